// Attention on the GPU against its CPU twin in fp64, within bounds of its rounding errors.
#include <limits>

#include "tensor/kernels/cuda/attention.h"
#include "test/gpu/attention_case.h"
#include "test/gpu/device_vector.h"
#include "test/gpu/every_order.h"

using namespace ringlet;
using ringlet::test::AttentionAnswer;
using ringlet::test::AttentionCase;
using ringlet::test::AttentionInputs;
using ringlet::test::in_every_order;
using ringlet::test::same_bits;

namespace {

// Around tiles of 16, 32 and 64 rows, and every width of head that is padded to another.
std::vector<AttentionCase> cases() {
  std::vector<AttentionCase> all;
  for (const auto& [T, D] :
       {std::pair{1, 8}, {15, 24}, {16, 32}, {17, 64}, {31, 1}, {33, 128}, {63, 32}, {64, 64}, {65, 40}, {130, 64}}) {
    for (const bool padding : {false, true}) {
      for (const double p : {0.0, 0.3}) {
        all.push_back({{.B = T > 64 ? 1 : 2, .T = T, .H = 2, .D = D}, padding, p});
      }
    }
  }
  return all;
}

// In bf16 both ways are tested; by tensor cores, weights are rounded to bf16 before they are multiplied.
enum class By { Choice, Simt };
template <typename T>
test::AttentionRoundoff roundoff(const AttentionCase& c, By by) {
  constexpr bool half = std::is_same_v<T, bf16>;
  const bool tensor_cores = half && by == By::Choice && (c.sizes.D == 32 || c.sizes.D == 64 || c.sizes.D == 128);
  return {std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24, tensor_cores ? 0x1p-8 : 0, half ? 0x1p-8 : 0};
}

// What one run on the device wrote, one after the other: y and dqkv; and log_sum.
template <typename T>
struct Run {
  std::vector<T> y, dqkv;
  std::vector<double> log_sum;
};

template <typename T>
Run<T> run(const AttentionCase& c, const AttentionInputs<T>& x, By by = By::Choice) {
  const RandomStream stream(3, "dropout");
  const DeviceVector<uint8_t> padded(c.padded());
  const DeviceVector<int32_t> seen(static_cast<size_t>(c.rows())), kept(static_cast<size_t>(c.rows()));
  kernels::cuda::attention_keys(c.sizes.B, c.sizes.T, c.padding ? padded.data() : nullptr, seen.data(), kept.data());
  const kernels::AttentionKeys keys{seen.data(), c.padding ? kept.data() : nullptr};
  const DeviceVector<T> qkv(x.qkv), dy(x.dy), y(x.dy.size()), dqkv(std::vector<T>(x.qkv.size()));
  const DeviceVector<double> log_sum(static_cast<size_t>(c.rows() * c.sizes.H));
  const DeviceVector<T> scratch(static_cast<size_t>(kernels::cuda::attention_scratch(c.sizes, c.padding)));
  if (by == By::Simt) {
    kernels::cuda::attention_simt(c.sizes, keys, c.drop(stream), qkv.data(), y.data(), log_sum.data());
    kernels::cuda::attention_backward_simt(c.sizes, keys, c.drop(stream), dy.data(), qkv.data(), log_sum.data(), dqkv.data(),
                                           scratch.data());
  } else {
    kernels::cuda::attention(c.sizes, keys, c.drop(stream), qkv.data(), y.data(), log_sum.data(), scratch.data());
    kernels::cuda::attention_backward(c.sizes, keys, c.drop(stream), dy.data(), qkv.data(), log_sum.data(), dqkv.data(),
                                      scratch.data());
  }
  return {y.values(), dqkv.values(), log_sum.values()};
}

// The largest |a − b| in units of the bound; equal values, infinities too, are 0 apart.
template <typename T>
double worst(const std::vector<T>& a, const std::vector<double>& b, const std::vector<double>& bound) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), ratio = x == b[i] ? 0 : std::fabs(x - b[i]) / std::max(bound[i], 1e-300);
    largest = ratio <= largest ? largest : ratio;  // a NaN stays
  }
  return largest;
}

}  // namespace

TEMPLATE_TEST_CASE("attention on the GPU: the CPU's, gradients too, within rounding", "[gpu]", float, double, bf16) {
  using T = TestType;
  const By by = std::is_same_v<T, bf16> ? GENERATE(By::Choice, By::Simt) : By::Choice;
  for (const AttentionCase& c : cases()) {
    INFO(to_text(c) << (by == By::Simt ? " simt" : ""));
    const AttentionInputs<T> x(c);
    const AttentionAnswer answer = answer_of(c, test::widened(x.qkv), test::widened(x.dy), roundoff<T>(c, by));
    const Run<T> result = run(c, x, by);
    CHECK(worst(result.y, answer.y, answer.y_bound) <= 1);
    CHECK(worst(result.log_sum, answer.log_sum, answer.log_sum_bound) <= 1);
    CHECK(worst(result.dqkv, answer.dqkv, answer.dqkv_bound) <= 1);
  }
}

TEMPLATE_TEST_CASE("attention on the GPU: the same bits in every order of threads", "[gpu]", float, bf16) {
  using T = TestType;
  const AttentionCase c{{.B = 1, .T = 70, .H = 2, .D = 64}, true, 0.3};
  const AttentionInputs<T> x(c);
  in_every_order([&] { return run(c, x).y; });
  in_every_order([&] { return run(c, x).dqkv; });
  in_every_order([&] { return run(c, x).log_sum; });
}

TEMPLATE_TEST_CASE("attention on the GPU: a row does not depend on later ones, not even on NaN", "[gpu]", float, bf16) {
  using T = TestType;
  const AttentionCase all{{.B = 1, .T = 70, .H = 2, .D = 64}, false, 0.0}, part{{.B = 1, .T = 37, .H = 2, .D = 64}, false, 0.0};
  AttentionInputs<T> x(all), first(part);
  first.qkv.assign(x.qkv.begin(), x.qkv.begin() + static_cast<int64_t>(first.qkv.size()));
  std::fill(x.qkv.begin() + static_cast<int64_t>(first.qkv.size()), x.qkv.end(), T(std::numeric_limits<float>::quiet_NaN()));
  std::vector<T> y = in_every_order([&] { return run(all, x).y; });
  y.resize(first.dy.size());
  CHECK(same_bits(y, run(part, first).y));
}

TEMPLATE_TEST_CASE("attention on the GPU: with padding, the bits of the other keys alone", "[gpu]", float, bf16) {
  using T = TestType;
  const AttentionCase padded{{.B = 1, .T = 70, .H = 2, .D = 64}, true, 0.0},
      alone{{.B = 1, .T = 68, .H = 2, .D = 64}, false, 0.0};
  const AttentionInputs<T> x(padded);
  AttentionInputs<T> rest(alone);  // the first two rows are padding
  rest.qkv.assign(x.qkv.end() - static_cast<int64_t>(rest.qkv.size()), x.qkv.end());
  const std::vector<T> y = run(padded, x).y;
  CHECK(same_bits({y.end() - static_cast<int64_t>(rest.dy.size()), y.end()}, run(alone, rest).y));
}

TEMPLATE_TEST_CASE("attention on the GPU: what does not see a row keeps its gradient when that is NaN", "[gpu]", float, bf16) {
  using T = TestType;
  const AttentionCase c{{.B = 1, .T = 70, .H = 2, .D = 64}, false, 0.0};
  const int64_t C = c.channels(), bad = 20;
  AttentionInputs<T> x(c);
  const auto fill = [&](float value) {
    std::fill_n(x.dy.begin() + bad * C, C, T(value));
    return run(c, x).dqkv;
  };
  const std::vector<T> zero = fill(0), nan = fill(std::numeric_limits<float>::quiet_NaN());
  const auto same = [&](int64_t row, int64_t part) {  // of q, k and v
    const int64_t begin = row * 3 * C + part * C;
    return same_bits(std::vector<T>(zero.begin() + begin, zero.begin() + begin + C),
                     std::vector<T>(nan.begin() + begin, nan.begin() + begin + C));
  };
  for (int64_t row = 0; row < c.sizes.T; ++row) {
    INFO("row " << row);
    CHECK(same(row, 0) == (row != bad));
    CHECK(same(row, 1) == (row > bad));
    CHECK(same(row, 2) == (row > bad));
  }
}
