#include "tensor/base/random.h"

#include <set>

#include "tensor/ops/random.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr uint64_t kMany = 1 << 16;

// Means of powers: E[x], E[x²], E[x³], E[x⁴].
template <typename Draw>
std::vector<double> moments(Draw&& draw) {
  std::vector<double> sum(4, 0.0);
  for (uint64_t i = 0; i < kMany; ++i) {
    const double x = draw(i);
    for (size_t k = 0; k < 4; ++k) sum[k] += std::pow(x, static_cast<double>(k + 1)) / kMany;
  }
  return sum;
}

double correlation(const RandomStream& a, const RandomStream& b) {
  double sum = 0;
  for (uint64_t i = 0; i < kMany; ++i) sum += a.normal(i) * b.normal(i) / kMany;
  return sum;
}

}  // namespace

TEST_CASE("philox gives the known answers of its authors", "[tensor]") {
  struct Row {
    uint64_t key, high, low;
    std::array<uint32_t, 4> words;
  };
  const Row table[] = {
      // Random123, tests/kat_vectors, philox4x32 10
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Row& row : table) {
    CHECK(philox(row.key, row.high, row.low) == row.words);
  }
}

TEST_CASE("uniform and normal numbers have the moments of their distributions", "[tensor]") {
  const RandomStream stream(1, "moments");
  const double sigmas = 5 / std::sqrt(static_cast<double>(kMany));
  const std::vector<double> uniform = moments([&](uint64_t i) { return static_cast<double>(stream.uniform(i)); });
  for (int k = 1; k <= 4; ++k) CHECK(std::fabs(uniform[static_cast<size_t>(k - 1)] - 1.0 / (k + 1)) < 0.3 * sigmas);
  const std::vector<double> normal = moments([&](uint64_t i) { return stream.normal(i); });
  CHECK(std::fabs(normal[0]) < sigmas);
  CHECK(std::fabs(normal[1] - 1) < std::sqrt(2.0) * sigmas);
  CHECK(std::fabs(normal[2]) < std::sqrt(15.0) * sigmas);
  CHECK(std::fabs(normal[3] - 3) < std::sqrt(96.0) * sigmas);
  for (uint64_t i = 0; i < kMany; ++i) {
    const float u = stream.uniform(i);
    REQUIRE((u >= 0.0F && u < 1.0F && std::isfinite(stream.normal(i))));
  }
}

TEST_CASE("streams of another seed, purpose or index are independent", "[tensor]") {
  const RandomStream stream(1, "a", 0);
  const double bound = 5 / std::sqrt(static_cast<double>(kMany));
  for (const RandomStream& other : {RandomStream(2, "a", 0), RandomStream(1, "b", 0), RandomStream(1, "a", 1)}) {
    CHECK(std::fabs(correlation(stream, other)) < bound);
  }
  CHECK(correlation(stream, RandomStream(1, "a", 0)) == Approx(1).epsilon(0.02));
}

TEST_CASE("uniforms and normals are the numbers of uniform and normal, from any first index", "[tensor]") {
  const RandomStream stream(9, "batch", 2);
  for (const uint64_t first : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{61}, (uint64_t{1} << 34) - 3}) {
    for (const size_t count : {0, 1, 2, 5, 63, 64, 65, 200}) {
      std::vector<float> got(count);
      std::vector<double> normal(count);
      stream.uniforms(first, got);
      stream.normals(first, normal);
      for (size_t i = 0; i < count; ++i)
        REQUIRE((got[i] == stream.uniform(first + i) && normal[i] == stream.normal(first + i)));
    }
  }
}

TEST_CASE("below gives every number under n, evenly, and none above", "[tensor]") {
  const RandomStream stream(4, "below");
  for (const uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{7}, uint64_t{64}}) {
    std::vector<double> seen(n, 0.0);
    for (uint64_t i = 0; i < 1 << 14; ++i) {
      const uint64_t value = stream.below(i, n);
      REQUIRE(value < n);
      seen[value] += 1;
    }
    const double expected = (1 << 14) / static_cast<double>(n);
    for (const double count : seen) CHECK(std::fabs(count - expected) <= 5 * std::sqrt(expected));
  }
  std::set<uint64_t> wide;
  for (uint64_t i = 0; i < 1000; ++i) wide.insert(stream.below(i, ~uint64_t{0}));
  CHECK(wide.size() == 1000);
}

TEST_CASE("an element of a random tensor depends on its index alone", "[tensor]") {
  const RandomStream stream(11, "fill");
  for (const DType dtype : {DType::F32, DType::F64}) {
    Tensor whole = Tensor::empty({6, 5}, dtype), part = Tensor::empty({2, 5}, dtype), columns = Tensor::empty({5, 6}, dtype);
    Tensor view = columns.transpose(0, 1);
    fill_normal(whole, stream, 1.0, 0.02);
    fill_normal(part, stream, 1.0, 0.02, 15);
    fill_normal(view, stream, 1.0, 0.02);
    CHECK(same_bits(part, whole.narrow(0, 3, 2)));
    CHECK(same_bits(view, whole));
    CHECK(whole.at(7) == Approx(1.0 + 0.02 * stream.normal(7)).epsilon(1e-7));
    fill_uniform(whole, stream, -3, 5);
    CHECK(whole.at(7) == Approx(-3 + 8 * static_cast<double>(stream.uniform(7))).epsilon(1e-7));
  }
  Tensor integers = Tensor::zeros({3}, DType::I32);
  CHECK_THROWS_WITH(fill_normal(integers, stream, 0, 1), Catch::Matchers::Contains("fill_normal: needs f32 or f64, got i32"));
}
