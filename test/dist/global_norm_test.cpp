#include "dist/global_norm.h"

#include <bit>
#include <cmath>
#include <limits>

#include "tensor/base/random.h"
#include "tensor/ops/random.h"
#include "test/dist/toy_module.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

double norm_of(const std::vector<float>& values) {
  const std::vector<Tensor> tensors{floats(values)};
  return global_norm(tensors);
}

// Sums of squares that differ from the exact one only below 2^-112: the oracle.
double long_norm(std::span<const float> values) {
  long double sum = 0;
  for (const float value : values) {
    sum += static_cast<long double>(value) * static_cast<long double>(value);
  }
  return static_cast<double>(std::sqrt(sum));
}

// Every exponent that an f32 has, subnormals included.
std::vector<float> all_magnitudes(size_t n) {
  const RandomStream stream(3, "bits");
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    const float value = std::bit_cast<float>(stream.bits(i));
    values[i] = std::isfinite(value) ? value : 0.0F;
  }
  return values;
}

}  // namespace

TEST_CASE("the norm of few values is the nearest double of the exact one", "[dist]") {
  struct Row {
    std::vector<float> values;
    double norm;
  };
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  const std::vector<Row> rows{
      {{}, 0.0},
      {{0, -0.0F}, 0.0},
      {{3, 4}, 5.0},
      {{3e-30F, 4e-30F}, static_cast<double>(3e-30F) / 3 * 5},
      {{largest}, largest},
      {{least}, least},
      {{largest, least}, largest},
      {{least, least, least, least}, 2.0 * static_cast<double>(least)},
      {{1, -1, 1, -1}, 2.0},
  };
  for (const Row& row : rows) {
    CHECK(norm_of(row.values) == Approx(row.norm).epsilon(row.values.size() > 1 ? 1e-7 : 0.0).margin(0));
  }
  CHECK(norm_of({3, 4}) == 5.0);
  CHECK(norm_of({least, least, least, least}) == 2.0 * static_cast<double>(least));
  // Four times the largest: its square is beyond f32 by far, the norm is not beyond f64.
  CHECK(norm_of({largest, largest, largest, largest}) == 2.0 * static_cast<double>(largest));
  CHECK(std::isnan(norm_of({1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})));
  CHECK(std::isinf(norm_of({1, -std::numeric_limits<float>::infinity()})));
}

TEST_CASE("what lies far below a tie decides how the sum is rounded", "[dist]") {
  // S = a² + b² is a double with an even last bit. Half an ulp more is a tie, which goes to S; 2^-200 more than that goes up.
  int told_apart = 0;
  for (int i = 1; i <= 50; ++i) {
    const float a = 1.0F + std::ldexp(static_cast<float>(i), -12), b = std::ldexp(static_cast<float>(i), -10);
    const double sum = static_cast<double>(a) * a + static_cast<double>(b) * b;
    const float quarter_ulp_root = std::ldexp(1.0F, -27), far_below = std::ldexp(1.0F, -100);
    CHECK(norm_of({a, b, quarter_ulp_root, quarter_ulp_root}) == std::sqrt(sum));
    CHECK(norm_of({a, b, quarter_ulp_root, quarter_ulp_root, far_below}) == std::sqrt(std::nextafter(sum, 2.0)));
    told_apart += std::sqrt(sum) != std::sqrt(std::nextafter(sum, 2.0)) ? 1 : 0;
  }
  CHECK(told_apart > 10);
}

TEST_CASE("values of all magnitudes have the norm that 80-bit arithmetic finds", "[dist]") {
  for (const size_t n : {1, 2, 17, 1023, 1024, 1025, 5000}) {
    const std::vector<float> values = all_magnitudes(n);
    CHECK(norm_of(values) == Approx(long_norm(values)).epsilon(2e-16).margin(0));
  }
}

TEST_CASE("the norm does not see shards: the same bits however the elements are dealt", "[dist]") {
  for (const bool extreme : {false, true}) {
    Tensor x = Tensor::empty({10007});
    fill_normal(x, RandomStream(1, "norm"), 0.0, 0.02);
    if (extreme) {
      x = floats(all_magnitudes(10007));
    }
    const std::vector<Tensor> whole{x};
    const double expected = global_norm(whole);
    for (const int ranks : {1, 2, 3, 4, 8}) {
      auto norms = per_rank<double>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        const int64_t begin = comm.rank() * x.numel() / comm.size(), end = (comm.rank() + 1) * x.numel() / comm.size();
        const int64_t middle = begin + (end - begin) / 3;
        const std::vector<Tensor> shards{x.narrow(0, middle, end - middle), x.narrow(0, begin, middle - begin)};
        norms[static_cast<size_t>(comm.rank())] = global_norm(comm, shards);
      });
      for (const double norm : norms) {
        CHECK(std::bit_cast<uint64_t>(norm) == std::bit_cast<uint64_t>(expected));
      }
    }
  }
}

TEST_CASE("many small squares are not lost: 2^25 entries of 1e-4 [B9]", "[dist]") {
  const std::vector<Tensor> tensors(32, Tensor::full({int64_t{1} << 20}, 1e-4));
  CHECK(global_norm(tensors) == Approx(0.5792619).margin(5e-8));
}

TEST_CASE("f64 has a norm to its stated bound, bf16 an exact one, and whole numbers none", "[dist]") {
  const std::vector<Tensor> wide{Tensor::full({1000}, 1e-3, DType::F64)};
  CHECK(global_norm(wide) == Approx(std::sqrt(1e-3)).epsilon(11 * 2.3e-16));
  const std::vector<Tensor> narrow{Tensor::full({4}, 1.5, DType::BF16)};
  CHECK(global_norm(narrow) == 3.0);
  const std::vector<Tensor> whole{Tensor::full({4}, 1, DType::I64)};
  CHECK_THROWS_AS(global_norm(whole), Error);
}
