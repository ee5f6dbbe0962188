#include "nn/module.h"

#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reduce.h"
#include "nn/dropout.h"
#include "nn/linear.h"
#include "test/nn/random_values.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

// y = w·x, with a buffer that counts nothing.
class Scale : public Module {
 public:
  explicit Scale(double w) : w_(add_parameter("w", Tensor::full({1}, w))), seen_(add_buffer("seen", Tensor::zeros({2}))) {}
  explicit Scale(const Var& shared) : w_(add_parameter("w", shared)), seen_(add_buffer("seen", Tensor::zeros({2}))) {}
  Var forward(const Var& x_in) {
    return hooked(x_in, [&](const Var& x) { return w_ * x; });
  }
  const Var& w() const { return w_; }

 private:
  Var w_;
  Tensor seen_;
};

// y = bias + a(x) + b(x), where b may share a's parameter.
class Pair : public Module {
 public:
  explicit Pair(bool tied) : a_(2.0), b_(tied ? Scale(a_.w()) : Scale(5.0)), dropout_(0.5, 1, "pair") {
    add_module("a", a_);
    add_module("b", b_);
    add_module("dropout", dropout_);
    bias_ = add_parameter("bias", Tensor::zeros({1}));
  }
  Var forward(const Var& x_in) {
    return hooked(x_in, [&](const Var& x) { return a_.forward(x) + b_.forward(x) + bias_; });
  }
  Scale& a() { return a_; }
  Scale& b() { return b_; }
  Dropout& dropout() { return dropout_; }
  using Module::add_module;
  using Module::add_parameter;

 private:
  Scale a_;
  Scale b_;
  Dropout dropout_;
  Var bias_;
};

std::vector<std::string> names_of(const std::vector<NamedParameter>& parameters) {
  std::vector<std::string> names;
  for (const NamedParameter& parameter : parameters) {
    names.push_back(parameter.name);
  }
  return names;
}

}  // namespace

TEST_CASE("parameters are listed depth first under dotted names, a module's own before its children's", "[nn]") {
  Pair pair(false);
  CHECK(names_of(pair.parameters()) == std::vector<std::string>{"bias", "a.w", "b.w"});
  CHECK(pair.tied_names().empty());
  CHECK(pair.parameter_count() == 3);
  REQUIRE(pair.buffers().size() == 2);
  CHECK(pair.buffers()[1].name == "b.seen");
  std::vector<std::string> modules;
  for (const auto& [name, module] : pair.modules()) {
    modules.push_back(name);
  }
  CHECK(modules == std::vector<std::string>{"", "a", "b", "dropout"});
}

TEST_CASE("a variable that is registered twice is listed and counted once, under its first name [F1] [F3]", "[nn]") {
  Pair pair(true);
  CHECK(names_of(pair.parameters()) == std::vector<std::string>{"bias", "a.w"});
  CHECK(pair.tied_names() == std::vector<std::pair<std::string, std::string>>{{"b.w", "a.w"}});
  CHECK(pair.parameter_count() == 2);
  backward(pair.forward(Var(Tensor::full({1}, 3.0))));
  CHECK(pair.a().w().grad().item() == 6.0);  // 3 from each use
}

TEST_CASE("a name stands for one part of a module", "[nn]") {
  Pair pair(false);
  Linear child(1, 1, false);
  CHECK_THROWS_WITH(pair.add_module("a", child), Catch::Matchers::Contains("\"a\" twice"));
  CHECK_THROWS_WITH(pair.add_parameter("bias", Tensor::zeros({1})), Catch::Matchers::Contains("\"bias\" twice"));
  CHECK_THROWS_AS(pair.add_module("", child), Error);
  CHECK_THROWS_AS(pair.add_parameter("sum", Var(Tensor::zeros({1}), true) * 2.0), Error);
}

TEST_CASE("train and eval reach every module below", "[nn]") {
  Pair pair(false);
  CHECK(pair.dropout().training());
  pair.eval();
  CHECK_FALSE(pair.training());
  CHECK_FALSE(pair.dropout().training());
  pair.train();
  CHECK(pair.dropout().training());
}

TEST_CASE("hooks run around forward and backward, parents outside of children", "[nn]") {
  Pair pair(false);
  std::string events;
  const auto note = [&](const char* event) { return [&events, event] { events += std::string(event) + " "; }; };
  const auto watch = [&](Module& module, const char* begin, const char* end, const char* back_begin, const char* back_end) {
    module.on_forward_begin(note(begin));
    module.on_forward_end(note(end));
    module.on_backward_begin(note(back_begin));
    module.on_backward_end(note(back_end));
  };
  watch(pair, "pair(", ")pair", "d_pair(", ")d_pair");
  watch(pair.a(), "a(", ")a", "d_a(", ")d_a");
  const Var x(Tensor::full({1}, 3.0), true);
  const Var y = pair.forward(x);
  CHECK(events == "pair( a( )a )pair ");
  CHECK(y.item() == 21.0);
  events.clear();
  backward(y);
  CHECK(events == "d_pair( d_a( )d_a )d_pair ");
  CHECK(x.grad().item() == 7.0);
}

TEST_CASE("a hook may point parameters elsewhere before they are used", "[nn]") {
  Scale scale(2.0);
  Var w = scale.w();
  scale.on_forward_begin([&] { w.set_data(Tensor::full({1}, 10.0)); });
  CHECK(scale.forward(Var(Tensor::full({1}, 3.0))).item() == 30.0);
}

TEST_CASE("two hooks of one kind run in the order in which they were added", "[nn]") {
  Scale scale(2.0);
  std::string events;
  scale.on_forward_begin([&] { events += "1"; });
  scale.on_forward_begin([&] { events += "2"; });
  scale.forward(Var(Tensor::full({1}, 3.0)));
  CHECK(events == "12");
}

TEST_CASE("parameters and gradients can be views of flat tensors", "[nn]") {
  Linear linear(2, 3, true);
  Tensor flat = test::normal({9}, "flat", 0, 1, DType::F32), flat_grad = Tensor::zeros({9}, DType::F32, Category::Gradients);
  Var weight = linear.weight(), bias = linear.bias();
  weight.set_data(flat.narrow(0, 0, 6).view({2, 3}));
  bias.set_data(flat.narrow(0, 6, 3));
  weight.set_grad(flat_grad.narrow(0, 0, 6).view({2, 3}));
  bias.set_grad(flat_grad.narrow(0, 6, 3));
  const Tensor x = Tensor::from<float>({1, 2}, {1, 2});
  const Var y = linear.forward(Var(x));
  CHECK(y.data().at(1) == Approx(flat.at(1) + 2 * flat.at(4) + flat.at(7)).epsilon(1e-6));
  backward(sum(y));
  CHECK(flat_grad.to_vector() == std::vector<double>{1, 1, 1, 2, 2, 2, 1, 1, 1});
}
