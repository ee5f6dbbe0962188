#include "tensor/ops/attention.h"

#include <cmath>
#include <limits>

#include "tensor/base/random.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

struct Sizes {
  int64_t B, T, H, D;
};

// The formula, loop by loop in fp64, from which the gradient follows by the sum rule written out.
struct Reference {
  std::vector<double> y, log_sum, dqkv;
};
Reference naive(const Sizes& s, const Tensor& qkv, const Tensor& dy, const Tensor& padding, const AttentionDropout& drop) {
  const int64_t C = s.H * s.D;
  const std::vector<double> x = qkv.to_vector(), g = dy.to_vector();
  const RandomStream stream(drop.seed, drop.purpose, drop.index);
  Reference out{std::vector<double>(s.B * s.T * C), std::vector<double>(s.B * s.H * s.T),
                std::vector<double>(s.B * s.T * 3 * C)};
  for (int64_t b = 0; b < s.B; ++b) {
    for (int64_t h = 0; h < s.H; ++h) {
      const auto at = [&](int64_t t, int64_t part, int64_t d) { return (b * s.T + t) * 3 * C + part * C + h * s.D + d; };
      const double scale = 1 / std::sqrt(static_cast<double>(s.D));
      for (int64_t i = 0; i < s.T; ++i) {
        std::vector<double> p(s.T, 0.0), mask(s.T, 1.0), dp(s.T, 0.0);
        double total = 0, dot = 0;
        for (int64_t j = 0; j <= i; ++j) {
          double score = 0;
          for (int64_t d = 0; d < s.D; ++d) score += x[at(i, 0, d)] * x[at(j, 1, d)];
          const bool padded = padding.defined() && padding.at(b * s.T + j) != 0;
          p[j] = padded ? 0 : std::exp(score * scale);
          total += p[j];
          if (drop.probability > 0) {
            const bool keep = stream.uniform(((b * s.H + h) * s.T + i) * s.T + j) >= drop.probability;
            mask[j] = keep ? 1 / (1 - drop.probability) : 0;
          }
        }
        out.log_sum[(b * s.H + h) * s.T + i] = std::log(total);
        for (int64_t j = 0; j <= i && total > 0; ++j) {
          p[j] /= total;
          for (int64_t d = 0; d < s.D; ++d) {
            out.y[(b * s.T + i) * C + h * s.D + d] += p[j] * mask[j] * x[at(j, 2, d)];
            dp[j] += mask[j] * g[(b * s.T + i) * C + h * s.D + d] * x[at(j, 2, d)];
          }
          dot += p[j] * dp[j];
        }
        for (int64_t j = 0; j <= i; ++j) {
          const double ds = p[j] * (dp[j] - dot) * scale;
          for (int64_t d = 0; d < s.D; ++d) {
            out.dqkv[at(i, 0, d)] += ds * x[at(j, 1, d)];
            out.dqkv[at(j, 1, d)] += ds * x[at(i, 0, d)];
            out.dqkv[at(j, 2, d)] += p[j] * mask[j] * g[(b * s.T + i) * C + h * s.D + d];
          }
        }
      }
    }
  }
  return out;
}

// A sum of n products of numbers near 1, each through an exponential of a few ulp.
double tolerance(const Sizes& s, DType dtype) {
  const double eps = dtype == DType::F32 ? 0x1p-24 : 0x1p-53;
  return eps * 40.0 * std::sqrt(static_cast<double>(s.T * s.D));
}

void require_near(const Tensor& got, const std::vector<double>& expected, double within) {
  const std::vector<double> values = got.to_vector();
  REQUIRE((values.size() == expected.size() && !values.empty()));
  size_t worst = 0;
  double error = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double e = values[i] == expected[i] ? 0 : std::fabs(values[i] - expected[i]) / (1 + std::fabs(expected[i]));
    if (!(e <= error)) {
      error = e;
      worst = i;
    }
  }
  CAPTURE(worst, values[worst], expected[worst]);
  REQUIRE(error <= within);
}

// Padding of length T on the left of even batches, and a hole further on in all.
Tensor some_padding(const Sizes& s) {
  Tensor padding = Tensor::zeros({s.B, s.T}, DType::U8);
  for (int64_t b = 0; b < s.B; ++b) {
    for (int64_t j = 0; j < s.T; ++j) {
      padding.mutable_data<uint8_t>()[b * s.T + j] = (b % 2 == 0 && j < s.T / 3 + 1) || j % 7 == 5;
    }
  }
  return padding;
}

Tensor rows(const Tensor& x, int64_t first, int64_t count) { return x.narrow(1, first, count).contiguous(); }

}  // namespace

TEST_CASE("attention and its gradient are the formula's, with and without padding and dropout", "[tensor]") {
  for (const Sizes& s : {Sizes{1, 1, 1, 1}, Sizes{2, 3, 1, 2}, Sizes{4, 16, 4, 8}, Sizes{1, 17, 3, 5}, Sizes{2, 33, 2, 16},
                         Sizes{1, 64, 2, 32}, Sizes{1, 40, 1, 64}}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const Tensor qkv = normal({s.B, s.T, 3 * s.H * s.D}, "qkv", dtype), dy = normal({s.B, s.T, s.H * s.D}, "dy", dtype);
      for (const double p : {0.0, 0.4}) {
        for (const Tensor& padding : {Tensor(), some_padding(s)}) {
          const AttentionDropout drop{.probability = p, .seed = 3, .purpose = "drop", .index = 9};
          const Attended got = attention(qkv, s.H, padding, drop);
          const Reference expected = naive(s, qkv, dy, padding, drop);
          CAPTURE(s.B, s.T, s.H, s.D, p, padding.defined());
          require_near(got.y, expected.y, tolerance(s, dtype));
          require_near(got.log_sum, expected.log_sum, tolerance(s, dtype));
          require_near(attention_backward(dy, qkv, got, s.H, padding, drop), expected.dqkv, tolerance(s, dtype));
        }
      }
    }
  }
}

TEST_CASE("[B4] a row with every key masked gives zeros, and the others are as if they were alone", "[tensor]") {
  const Tensor qkv = normal({1, 3, 12}, "b4"), dy = normal({1, 3, 4}, "dy");
  const Tensor padding = Tensor::from<uint8_t>({1, 0, 0}, {1, 3});
  const Attended got = attention(qkv, 2, padding, {}), alone = attention(rows(qkv, 1, 2), 2, {}, {});
  const Tensor dqkv = attention_backward(dy, qkv, got, 2, padding, {});
  CHECK(same_bits(rows(got.y, 0, 1), Tensor::zeros({1, 1, 4})));
  CHECK(got.log_sum.at(0) == -std::numeric_limits<double>::infinity());
  CHECK(same_bits(rows(got.y, 1, 2), alone.y));
  CHECK(same_bits(rows(dqkv, 0, 1), Tensor::zeros({1, 1, 12})));
  CHECK(same_bits(rows(dqkv, 1, 2), attention_backward(rows(dy, 1, 2), rows(qkv, 1, 2), alone, 2, {}, {})));
}

TEST_CASE("[B4] what stands in a padded key, NaN too, reaches no other row", "[tensor]") {
  Tensor qkv = normal({2, 40, 24}, "padded");
  const Tensor padding = some_padding({2, 40, 2, 4}), dy = normal({2, 40, 8}, "dy");
  Tensor poisoned = qkv.clone();
  for (int64_t i = 0; i < 80; ++i) {
    for (int64_t c = 8; c < 24 && padding.at(i) != 0; ++c) {
      poisoned.mutable_data<float>()[i * 24 + c] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  const Attended clean = attention(qkv, 2, padding, {}), got = attention(poisoned, 2, padding, {});
  CHECK(same_bits(got.y, clean.y));
  CHECK(same_bits(attention_backward(dy, poisoned, got, 2, padding, {}), attention_backward(dy, qkv, clean, 2, padding, {})));
}

TEST_CASE("[B6] no row sees the future: later tokens may change, be NaN, or not be there", "[tensor]") {
  constexpr int64_t kTokens = 37;
  const Tensor qkv = normal({2, kTokens, 24}, "b6");
  for (const double p : {0.0, 0.3}) {
    const AttentionDropout drop{.probability = p, .seed = 5, .purpose = "drop"};
    const Tensor y = attention(qkv, 2, {}, drop).y;
    for (const int64_t t : {0, 1, 14, 15, 16, 20, 31, 32, 36}) {
      for (const double later : {0.5, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
        Tensor changed = qkv.clone();
        changed.narrow(1, t + 1, kTokens - t - 1).fill(later);
        CAPTURE(p, t, later);
        REQUIRE(same_bits(rows(attention(changed, 2, {}, drop).y, 0, t + 1), rows(y, 0, t + 1)));
      }
      if (p == 0) {
        REQUIRE(same_bits(attention(rows(qkv, 0, t + 1), 2, {}, drop).y, rows(y, 0, t + 1)));
      }
    }
  }
}

TEST_CASE("a head's bits depend neither on the batch nor on the other heads", "[tensor]") {
  const Tensor qkv = normal({3, 21, 3 * 4 * 8}, "heads"), y = attention(qkv, 4, {}, {}).y;
  for (int64_t h = 0; h < 4; ++h) {
    Tensor one = Tensor::empty({3, 21, 24});
    for (int64_t part = 0; part < 3; ++part) {
      one.narrow(2, part * 8, 8).copy_from(qkv.narrow(2, part * 32 + h * 8, 8));
    }
    for (int64_t b = 0; b < 3; ++b) {
      REQUIRE(same_bits(attention(one.narrow(0, b, 1), 1, {}, {}).y, y.narrow(0, b, 1).narrow(2, h * 8, 8)));
    }
  }
}

TEST_CASE("attention over no batch, and wrong operands", "[tensor]") {
  CHECK(attention(Tensor::zeros({0, 5, 12}), 2, {}, {}).y.shape() == Shape{0, 5, 4});
  CHECK(attention(Tensor::zeros({2, 0, 12}), 2, {}, {}).y.shape() == Shape{2, 0, 4});
  const Tensor qkv = Tensor::zeros({2, 3, 12});
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(attention(Tensor::zeros({2, 12}), 2, {}, {}), Contains("attention: qkv must be [B, T, 3C], got [2, 12]"));
  CHECK_THROWS_WITH(attention(Tensor::zeros({2, 3, 13}), 2, {}, {}), Contains("qkv must be [B, T, 3C]"));
  CHECK_THROWS_WITH(attention(qkv, 3, {}, {}), Contains("3 heads do not divide C = 4"));
  CHECK_THROWS_WITH(attention(qkv, 0, {}, {}), Contains("0 heads do not divide"));
  CHECK_THROWS_WITH(attention(qkv, 2, Tensor::zeros({2, 4}, DType::U8), {}),
                    Contains("key_padding: shape must be [2, 3], got [2, 4]"));
  CHECK_THROWS_WITH(attention(qkv, 2, Tensor::zeros({2, 3}), {}), Contains("key_padding: dtype must be u8, got f32"));
  CHECK_THROWS_WITH(attention(qkv, 2, {}, {.probability = 1.0}), Contains("probability"));
  CHECK_THROWS_WITH(attention(Tensor::zeros({2, 3, 12}, DType::I32), 2, {}, {}), Contains("needs f32 or f64, got i32"));
}
