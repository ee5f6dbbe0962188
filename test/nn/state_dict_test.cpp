#include "nn/state_dict.h"

#include "nn/gpt.h"
#include "test/nn/random_values.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

std::vector<double> all_values(const Module& model) {
  std::vector<double> values;
  for (const auto& [name, tensor] : state_dict(model)) {
    const std::vector<double> more = tensor.to_vector();
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

// Two modules that share a weight, which therefore has two names, and a buffer.
class Tied : public Module {
 public:
  explicit Tied(double w) : w_(add_parameter("encoder", Tensor::full({2}, w))) {
    add_parameter("decoder", w_);
    add_buffer("steps", Tensor::full({1}, w, DType::F64));
  }

 private:
  Var w_;
};

}  // namespace

TEST_CASE("a state loads into another model of the same configuration, bit by bit", "[nn]") {
  Gpt from({.seed = 1}), to({.seed = 2});
  REQUIRE(all_values(from) != all_values(to));
  load_state_dict(to, state_dict(from));
  CHECK(all_values(from) == all_values(to));
  load_state_dict(to, state_dict(to));
  CHECK(all_values(from) == all_values(to));
}

TEST_CASE("a state shares the memory of the model", "[nn]") {
  Gpt model({});
  for (const NamedParameter& parameter : model.parameters()) {
    CHECK(state_dict(model).at(parameter.name).shares_storage(parameter.var.data()));
  }
}

TEST_CASE("a state that does not fit is refused by name, and the model is untouched [K6]", "[nn]") {
  const GptConfig own{.layers = 2, .embed_dim = 32};
  const auto edited = [&](const std::function<void(StateDict&)>& edit) {
    Gpt other(GptConfig{.layers = 2, .embed_dim = 32, .seed = 9});
    StateDict state;
    for (const auto& [name, tensor] : state_dict(other)) {
      state[name] = tensor.clone();
    }
    edit(state);
    return state;
  };
  struct Row {
    const char* what;
    StateDict state;
    std::vector<const char*> says;
  };
  const Gpt wide({.embed_dim = 64}), deep({.layers = 3}), shallow({.layers = 1});
  const Row rows[] = {
      {"twice as wide", state_dict(wide), {"of another shape", "h.0.attn.c_attn.weight: [64, 192] for [32, 96]", ", ..."}},
      {"three layers for two",
       state_dict(deep),
       {"10 unexpected (h.2.attn.c_attn.weight, h.2.attn.c_proj.weight, h.2.ln_1.bias, ...)"}},
      {"one layer for two", state_dict(shallow), {"10 missing (h.1.attn.c_attn.weight"}},
      {"transposed",
       edited([](StateDict& s) { s["wte.weight"] = s["wte.weight"].transpose(0, 1); }),
       {"1 of another shape (wte.weight: [32, 64] for [64, 32])"}},
      {"another dtype",
       edited([](StateDict& s) { s["ln_f.bias"] = s["ln_f.bias"].to(DType::BF16); }),
       {"1 of another dtype (ln_f.bias: bf16 for f32)"}},
      {"two faults",
       edited([](StateDict& s) {
         s.erase("wpe.weight");
         s["stray"] = Tensor::zeros({1});
       }),
       {"1 missing (wpe.weight)", "1 unexpected (stray)"}},
      {"nothing", {}, {"missing"}},
      {"an undefined tensor", edited([](StateDict& s) { s["wpe.weight"] = {}; }), {"1 missing (wpe.weight)"}},
  };
  for (const Row& row : rows) {
    Gpt model(own);
    const std::vector<double> before = all_values(model);
    for (const char* text : row.says) {
      CAPTURE(row.what);
      CHECK_THROWS_WITH(load_state_dict(model, row.state), Catch::Matchers::Contains(text));
    }
    CHECK(all_values(model) == before);
  }
}

TEST_CASE("two names of one variable load tied, and are refused when they disagree [F3]", "[nn]") {
  Tied from(1.0), to(2.0);
  StateDict state = state_dict(from);
  CHECK(state.size() == 2);  // encoder, steps
  load_state_dict(to, state);
  CHECK(all_values(to) == std::vector<double>{1, 1, 1});
  state["decoder"] = Tensor::full({2}, 1.0);
  CHECK_NOTHROW(load_state_dict(to, state));
  state["decoder"] = Tensor::full({2}, 3.0);
  CHECK_THROWS_WITH(load_state_dict(to, state), Catch::Matchers::Contains("decoder and encoder"));
  CHECK(all_values(to) == std::vector<double>{1, 1, 1});
}

TEST_CASE("a view that is not contiguous loads by its elements", "[nn]") {
  Gpt from({.seed = 1}), to({.seed = 2});
  StateDict state = state_dict(from);
  state["wte.weight"] = state["wte.weight"].transpose(0, 1).contiguous().transpose(0, 1);
  load_state_dict(to, state);
  CHECK(all_values(from) == all_values(to));
}
