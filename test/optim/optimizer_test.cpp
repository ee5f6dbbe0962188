// What holds for every optimizer: its contract with slices, its state, and the bits of an update in any slicing.
#include "optim/optimizer.h"

#include <functional>
#include <memory>

#include "optim/adamw.h"
#include "optim/sgd.h"
#include "tensor/ops/random.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

struct Named {
  std::string name;
  Var var;
};

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(std::vector<ParamSlice>)>;
struct Row {
  const char* what;
  size_t kinds;
  MakeOptimizer make;
};

const std::vector<Row>& optimizers() {
  static const std::vector<ParamGroup> groups = {{"all", 0.1}};
  static const auto sgd = [](const SgdConfig& config) {
    return [config](std::vector<ParamSlice> slices) { return std::make_unique<Sgd>(groups, std::move(slices), config); };
  };
  static const std::vector<Row> rows = {
      {"Sgd", 0, sgd({})},
      {"Sgd with momentum", 1, sgd({.momentum = 0.9, .dampening = 0.1})},
      {"Sgd with Nesterov momentum", 1, sgd({.momentum = 0.9, .nesterov = true})},
      {"AdamW", 2, [](std::vector<ParamSlice> slices) { return std::make_unique<AdamW>(groups, std::move(slices)); }},
  };
  return rows;
}

// The parameters after three updates, with the flat vector of `total` cut before each of `cuts`.
std::vector<double> after_three(const MakeOptimizer& make, DType dtype, int64_t total, int64_t start,
                                std::vector<int64_t> cuts) {
  Tensor w = Tensor::empty({start + total}, dtype), g = Tensor::empty({start + total}, dtype);
  const Tensor w_used = w.narrow(0, start, total), g_used = g.narrow(0, start, total);
  std::vector<ParamSlice> slices;
  int64_t from = 0;
  cuts.push_back(total);
  for (const int64_t to : cuts) {
    slices.push_back({"piece", w_used.narrow(0, from, to - from), g_used.narrow(0, from, to - from), 0});
    from = to;
  }
  Tensor values = Tensor::empty({total}, dtype), target = w_used, gradient = g_used;
  fill_normal(values, RandomStream(1, "w"), 0.0, 1.0);
  target.copy_from(values);
  const auto optimizer = make(std::move(slices));
  for (uint64_t step = 0; step < 3; ++step) {
    fill_normal(values, RandomStream(2, "g", step), 0.0, 1.0);
    gradient.copy_from(values);
    optimizer->step(0.01);
  }
  return w_used.to_vector();
}

}  // namespace

TEST_CASE("an element's update has the same bits in any slice", "[optim]") {
  constexpr int64_t kTotal = 200;
  for (const Row& row : optimizers()) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const std::vector<double> whole = after_three(row.make, dtype, kTotal, 0, {});
      for (int64_t i = 0; i <= 67; ++i) {
        CAPTURE(row.what, dtype, i);
        REQUIRE(after_three(row.make, dtype, kTotal, i, {}) == whole);                      // at any address
        REQUIRE(after_three(row.make, dtype, kTotal, 0, {i}) == whole);                     // cut in two
        REQUIRE(after_three(row.make, dtype, kTotal, 1, {i, i, i + 1, 190 - i}) == whole);  // empty and single pieces too
      }
    }
  }
}

TEST_CASE("state is one flat tensor per kind, with exactly as many elements as the slices", "[optim]") {
  for (const Row& row : optimizers()) {
    const auto allocator = std::make_shared<Allocator>();
    const AllocatorScope scope(allocator);
    const auto optimizer = row.make({{"a", Tensor::zeros({2, 3}), Tensor::zeros({2, 3}), 0},
                                     {"empty", Tensor::zeros({0}), Tensor::zeros({0}), 0},
                                     {"b", Tensor::zeros({5}), Tensor::zeros({5}), 0}});
    CAPTURE(row.what);
    REQUIRE(optimizer->state_kinds().size() == row.kinds);
    CHECK(allocator->ledger().of(Category::Optimizer).live == static_cast<int64_t>(row.kinds) * 11 * 4);
    for (size_t kind = 0; kind < row.kinds; ++kind) {
      const Tensor a = optimizer->state(kind, 0), empty = optimizer->state(kind, 1), b = optimizer->state(kind, 2);
      CHECK(a.shape() == Shape{6});
      CHECK(empty.numel() == 0);
      CHECK(a.shares_storage(b));
      CHECK(b.offset() == 6);
      CHECK(a.at(5) == 0.0);
    }
    CHECK_THROWS_AS(optimizer->state(row.kinds, 0), Error);
    if (row.kinds > 0) {
      CHECK_THROWS_AS(optimizer->state(0, 3), Error);
    }
  }
}

TEST_CASE("a parameter that is registered twice is updated once [F3]", "[optim]") {
  Var w(Tensor::full({1}, 1.0), true);
  const auto slices = slices_of(std::vector<Named>{{"w", w}, {"again", w}});
  REQUIRE(slices.size() == 1);
  CHECK(slices[0].name == "w");
  Sgd sgd({{"all", 0.0}, {"no_decay", 0.0}}, slices);
  backward(w, Tensor::full({1}, 1.0));
  sgd.step(0.1);
  CHECK(w.item() == Approx(0.9).epsilon(1e-7));  // 0.8: updated twice
}

TEST_CASE("slices that share elements are refused by name [F3]", "[optim]") {
  const Tensor flat = Tensor::zeros({10}), grad = Tensor::zeros({10});
  const auto piece = [&](const char* name, int64_t begin, int64_t length) {
    return ParamSlice{name, flat.narrow(0, begin, length), grad.narrow(0, begin, length), 0};
  };
  for (const Row& row : optimizers()) {
    CHECK_THROWS_WITH(row.make({piece("a", 0, 4), piece("c", 8, 2), piece("b", 3, 2)}),
                      Catch::Matchers::Contains("a and b share elements"));
    CHECK_NOTHROW(row.make({piece("b", 4, 6), piece("a", 0, 4), piece("empty", 2, 0)}));
  }
}

TEST_CASE("a frozen variable is left out, and one without gradient gets zeros that it shares", "[optim]") {
  Var trained(Tensor::full({2, 2}, 1.0), true), frozen(Tensor::full({2}, 1.0), false);
  const auto slices = slices_of(std::vector<Named>{{"frozen", frozen}, {"trained", trained}});
  REQUIRE(slices.size() == 1);
  CHECK(slices[0].name == "trained");
  backward(trained, Tensor::full({2, 2}, 3.0));
  CHECK(slices[0].grad.to_vector() == std::vector<double>{3, 3, 3, 3});
  Sgd sgd(decay_groups(0.0), slices);
  sgd.zero_grad();
  CHECK(trained.grad().to_vector() == std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("a slice that breaks its contract is refused by name", "[optim]") {
  const Tensor f32 = Tensor::zeros({4}), f64 = Tensor::zeros({4}, DType::F64), square = Tensor::zeros({2, 2});
  struct Refused {
    ParamSlice slice;
    const char* rule;
  };
  const Refused rows[] = {
      {{"odd", f32, Tensor::zeros({3}), 0}, "odd has 4 elements and a gradient of 3"},
      {{"odd", f32, f64, 0}, "one dtype"},
      {{"odd", f32, {}, 0}, "odd needs a value and a gradient"},
      {{"odd", f32, Tensor::zeros({4}), 1}, "odd is in group 1"},
      {{"odd", f32, Tensor::zeros({4}), -1}, "odd is in group -1"},
      {{"odd", square.transpose(0, 1), f32, 0}, "contiguous"},
      {{"odd", Tensor::zeros({4}, DType::BF16), Tensor::zeros({4}, DType::BF16), 0}, "master weights"},
  };
  for (const Refused& row : rows) {
    CHECK_THROWS_WITH(Sgd({{"all", 0.0}}, {row.slice}), Catch::Matchers::Contains(row.rule));
  }
  CHECK_THROWS_AS(Sgd({{"all", -0.1}}, {}), Error);
  Sgd sgd({{"all", 0.0}}, {});
  CHECK_THROWS_AS(sgd.set_updates(-1), Error);
  CHECK_NOTHROW(sgd.step(0.1));
}
