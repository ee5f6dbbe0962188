// The fused attention against the clear one, and what no form of attention may do: look ahead, or fall over a masked row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

using Form = Var (*)(const Var&, int64_t, const Tensor&, const AttentionDropout&);

struct NamedForm {
  std::string name;
  Form form;
};

const NamedForm kForms[] = {{"attention", attention}, {"attention_clear", attention_clear}};
const AttentionDropout kDropout{.probability = 0.5, .seed = 9, .purpose = "p", .index = 4};

double largest(const Tensor& x) {
  double size = 0;
  for (const double value : x.to_vector()) {
    size = std::max(size, std::abs(value));
  }
  return size;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  REQUIRE(x.size() == y.size());
  double difference = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    difference = std::isnan(x[i]) || std::isnan(y[i]) ? INFINITY : std::max(difference, std::abs(x[i] - y[i]));
  }
  return difference;
}

struct Run {
  Tensor y, dqkv;
};

// dy is drawn under a fixed name, so every run of one shape sees the same.
Run run(Form form, const Tensor& qkv, int64_t heads, const Tensor& padding = {}, const AttentionDropout& dropout = {}) {
  const Var x = leaf(qkv.clone());
  const Var y = form(x, heads, padding, dropout);
  backward(y, normal(y.shape(), "dy", qkv.dtype()));
  return {y.data(), x.grad()};
}

Tensor rows(const Tensor& x, int64_t from, int64_t count) { return x.narrow(1, from, count); }

Tensor mask(std::initializer_list<uint8_t> values, const Shape& shape) { return Tensor::from<uint8_t>(values, shape); }

}  // namespace

// A sum of n products carries a relative error of at most γ = n·ε of the sum of their sizes. The scores s (D products) pass theirs
// on to p = eˢ/Σ as a relative error of 2·γ·max|s|, and the sums over T keys add to it.
TEST_CASE("Fused attention equals clear attention, values and gradients, to a bound of rounding") {
  struct Row {
    int64_t B, T, C, H;
    bool padded, dropped;
  };
  const std::vector<Row> table = {{1, 1, 1, 1, false, false},  {2, 16, 32, 4, false, false}, {2, 16, 32, 4, false, true},
                                  {2, 16, 32, 4, true, false}, {3, 7, 15, 5, true, true},    {1, 67, 6, 1, false, true},
                                  {1, 130, 32, 2, true, true}, {2, 5, 34, 2, false, false}};
  for (const DType dtype : {DType::F32, DType::F64}) {
    for (const Row& row : table) {
      const Tensor qkv = normal({row.B, row.T, 3 * row.C}, "qkv", dtype);
      Tensor padding;
      if (row.padded) {
        padding = Tensor::zeros({row.B, row.T}, DType::U8);
        padding.narrow(1, 0, std::max<int64_t>(1, row.T / 3)).fill(1);
      }
      const AttentionDropout dropout = row.dropped ? kDropout : AttentionDropout{};
      const Run fused = run(attention, qkv, row.H, padding, dropout),
                clear = run(attention_clear, qkv, row.H, padding, dropout);

      const double eps = dtype == DType::F32 ? 0x1p-24 : 0x1p-53;
      const auto D = static_cast<double>(row.C / row.H), T = static_cast<double>(row.T);
      const double v = largest(qkv), s = v * v * std::sqrt(D), keep = row.dropped ? 2 : 1;
      const double gamma = (D + T + 16) * eps;  // 16: exp, division, dropout, scaling
      const double value_bound = 2 * keep * gamma * (1 + 2 * s) * v;
      const double dp = D * largest(normal({row.B, row.T, row.C}, "dy", dtype)) * v * keep;
      const double gradient_bound = 2 * gamma * (1 + 2 * s) * 2 * dp * T * v / std::sqrt(D);
      INFO("B, T, C, H = " << row.B << ", " << row.T << ", " << row.C << ", " << row.H << " in " << to_text(dtype));
      CHECK(largest_difference(fused.y, clear.y) <= value_bound);
      CHECK(largest_difference(fused.dqkv, clear.dqkv) <= gradient_bound);
      // The bounds are of the worst case. What is seen is far below, so that an error of a percent could not hide.
      CHECK(largest_difference(fused.y, clear.y) <= 1e4 * eps * largest(clear.y));
      CHECK(largest_difference(fused.dqkv, clear.dqkv) <= 1e4 * eps * largest(clear.dqkv));
    }
  }
}

TEST_CASE("Attention by hand: two positions, one channel") {
  // q = (1, 2), k = (3, 1), v = (10, 20): p₁ = softmax(6, 2), y = (10, 10·p₁₀ + 20·p₁₁)
  const Tensor qkv = Tensor::from<double>({1, 3, 10, 2, 1, 20}, {1, 2, 3});
  const double p11 = 1 / (1 + std::exp(4.0));
  for (const NamedForm& f : kForms) {
    const Var x = leaf(qkv.clone());
    const Var y = f.form(x, 1, {}, {});
    INFO(f.name);
    CHECK(y.data().at(0) == Approx(10).epsilon(1e-14));
    CHECK(y.data().at(1) == Approx(10 + 10 * p11).epsilon(1e-14));
    backward(y, Tensor::from<double>({0, 1}, {1, 2, 1}));
    const double ds = p11 * (1 - p11) * 10;  // ∂y₁/∂s₁₁ = −∂y₁/∂s₁₀
    const std::vector<double> expected = {0, -ds * 2, 1 - p11, ds * (1 - 3), ds * 2, p11};
    for (size_t i = 0; i < 6; ++i) {
      CHECK(x.grad().at(static_cast<int64_t>(i)) == Approx(expected[i]).margin(1e-14));
    }
  }
}

TEST_CASE("A row with every key masked gives zeros and zero gradients; the others are as if run alone [B4]") {
  for (const NamedForm& f : kForms) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      INFO(f.name << " in " << to_text(dtype));
      const Tensor qkv = normal({1, 3, 12}, "qkv", dtype);
      const Tensor left = mask({1, 0, 0}, {1, 3});
      const Run padded = run(f.form, qkv, 2, left);
      CHECK(rows(padded.y, 0, 1).to_vector() == std::vector<double>(4, 0.0));
      CHECK(rows(padded.dqkv, 0, 1).to_vector() == std::vector<double>(12, 0.0));

      const Var x = leaf(rows(qkv, 1, 2).clone());
      const Var alone = f.form(x, 2, {}, {});
      backward(alone, rows(normal({1, 3, 4}, "dy", dtype), 1, 2).clone());
      const double eps = dtype == DType::F32 ? 0x1p-24 : 0x1p-53;
      const double allowed = f.form == static_cast<Form>(attention) ? 0.0 : 16 * eps;  // the fused form promises the same bits
      CHECK(largest_difference(rows(padded.y, 1, 2), alone.data()) <= allowed * largest(alone.data()));
      CHECK(largest_difference(rows(padded.dqkv, 1, 2), x.grad()) <= allowed * largest(x.grad()));
    }
  }
}

TEST_CASE("All keys of a sequence masked: zeros, and its neighbours in the batch are unchanged [B4]") {
  for (const NamedForm& f : kForms) {
    INFO(f.name);
    const Tensor qkv = normal({2, 3, 6}, "qkv");
    const Run padded = run(f.form, qkv, 1, mask({1, 1, 1, 0, 0, 0}, {2, 3})), plain = run(f.form, qkv, 1);
    CHECK(largest(padded.y.narrow(0, 0, 1)) == 0);
    CHECK(largest(padded.dqkv.narrow(0, 0, 1)) == 0);
    CHECK(padded.y.narrow(0, 1, 1).to_vector() == plain.y.narrow(0, 1, 1).to_vector());
    CHECK(padded.dqkv.narrow(0, 1, 1).to_vector() == plain.dqkv.narrow(0, 1, 1).to_vector());
  }
}

TEST_CASE("No form of attention sees the future, to the bit, with and without dropout and padding [B6]") {
  const int64_t T = 11;
  for (const NamedForm& f : kForms) {
    for (const AttentionDropout& dropout : {AttentionDropout{}, kDropout}) {
      for (const bool padded : {false, true}) {
        for (const DType dtype : {DType::F32, DType::F64}) {
          INFO(f.name << ", dropout " << dropout.probability << ", padded " << padded << " in " << to_text(dtype));
          Tensor padding;
          if (padded) {
            padding = Tensor::zeros({2, T}, DType::U8);
            padding.narrow(1, 0, 2).fill(1);
          }
          const Tensor qkv = normal({2, T, 24}, "qkv", dtype);
          const Tensor y = f.form(Var(qkv), 4, padding, dropout).data();
          for (int64_t t = 1; t < T; ++t) {  // positions t … are changed, positions before t must not notice
            Tensor changed = qkv.clone();
            changed.narrow(1, t, T - t).copy_from(normal({2, T - t, 24}, "other", dtype));
            const Tensor after = f.form(Var(changed), 4, padding, dropout).data();
            CHECK(rows(after, 0, t).to_vector() == rows(y, 0, t).to_vector());
            CHECK(rows(after, t, T - t).to_vector() != rows(y, t, T - t).to_vector());
          }
        }
      }
    }
  }
}

TEST_CASE("No gradient flows from the past into the future: dq, dk and dv of positions after the loss are zero [B6]") {
  for (const NamedForm& f : kForms) {
    for (const AttentionDropout& dropout : {AttentionDropout{}, kDropout}) {
      const Var x = leaf(normal({1, 5, 6}, "qkv"));
      Tensor dy = Tensor::zeros({1, 5, 2}, DType::F64);
      dy.narrow(1, 2, 1).fill(1.0);
      backward(f.form(x, 1, {}, dropout), dy);
      INFO(f.name);
      CHECK(largest(rows(x.grad(), 3, 2)) == 0);
      CHECK(largest(rows(x.grad(), 0, 3)) > 0);
    }
  }
}

TEST_CASE("Dropout is a function of seed, purpose and index, the same in both forms") {
  const Tensor qkv = normal({2, 9, 12}, "qkv");
  const auto with = [&](Form form, uint64_t seed, std::string_view purpose, uint64_t index) {
    return form(Var(qkv), 2, {}, {.probability = 0.5, .seed = seed, .purpose = purpose, .index = index}).data();
  };
  for (const NamedForm& f : kForms) {
    INFO(f.name);
    const Tensor y = with(f.form, 1, "a", 0);
    CHECK(with(f.form, 1, "a", 0).to_vector() == y.to_vector());
    CHECK(largest_difference(with(attention, 1, "a", 0), y) < 1e-12);
    CHECK(largest_difference(with(f.form, 2, "a", 0), y) > 1e-3);
    CHECK(largest_difference(with(f.form, 1, "b", 0), y) > 1e-3);
    CHECK(largest_difference(with(f.form, 1, "a", 1), y) > 1e-3);
    CHECK(largest_difference(run(f.form, qkv, 2).y, y) > 1e-3);
  }
}

TEST_CASE("The purpose of the dropout need not outlive the forward pass") {
  const Var x = leaf(normal({1, 5, 6}, "qkv"));
  Var y;
  {
    std::string purpose = "a name that is too long to be stored inside of a std::string itself";
    y = attention(x, 1, {}, {.probability = 0.5, .seed = 1, .purpose = purpose});
    purpose.assign(purpose.size(), '?');
  }
  backward(y, normal({1, 5, 2}, "dy"));
  const Run again =
      run(attention, x.data(), 1, {},
          {.probability = 0.5, .seed = 1, .purpose = "a name that is too long to be stored inside of a std::string itself"});
  CHECK(x.grad().to_vector() == again.dqkv.to_vector());
}

TEST_CASE("Attention refuses what has no meaning, by name") {
  using Catch::Matchers::Contains;
  for (const NamedForm& f : kForms) {
    CHECK_THROWS_WITH(f.form(Var(normal({2, 3, 7}, "x")), 1, {}, {}), Contains(f.name) && Contains("[2, 3, 7]"));
    CHECK_THROWS_WITH(f.form(Var(normal({2, 3, 6}, "x")), 4, {}, {}), Contains(f.name) && Contains("4 heads"));
    CHECK_THROWS_AS(f.form(Var(normal({2, 3, 6}, "x")), 0, {}, {}), Error);
    CHECK_THROWS_WITH(f.form(Var(normal({2, 3, 6}, "x")), 1, mask({0, 0}, {2, 1}), {}), Contains("key_padding"));
    CHECK_THROWS_WITH(f.form(Var(normal({2, 3, 6}, "x")), 1, {}, {.probability = 1.0}), Contains("probability"));
    CHECK_THROWS_AS(f.form(Var(normal({2, 3, 6}, "x")), 1, {}, {.probability = NAN}), Error);
  }
}
