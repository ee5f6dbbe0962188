#include "tensor/kernels/cpu/matmul.h"

#include <limits>
#include <vector>

#include "tensor/base/random.h"
#include "tensor/ops/matmul.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

template <typename T>
std::vector<T> numbers(int64_t count, uint64_t seed) {
  const RandomStream stream(seed, "matmul_test");
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(stream.normal(i));
  return values;
}

// The tiled product against the three loops, for all four ways in which the operands may be transposed.
template <typename T>
void require_same_bits(int64_t M, int64_t N, int64_t K) {
  const auto a = numbers<T>(M * K, 1), b = numbers<T>(K * N, 2), start = numbers<T>(M * (N + 3), 3);
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      const kernels::MatrixView<T> A{a.data(), a_transposed ? 1 : K, a_transposed ? M : 1};
      const kernels::MatrixView<T> B{b.data(), b_transposed ? 1 : N, b_transposed ? K : 1};
      auto fast = start, clear = start;
      kernels::matmul_add(M, N, K, A, B, fast.data(), N + 3);
      kernels::matmul_add_clear(M, N, K, A, B, clear.data(), N + 3);
      CAPTURE(M, N, K, a_transposed, b_transposed);
      REQUIRE(fast == clear);  // also the three columns behind each row, which must not be touched
    }
  }
}

// From zero, whatever C held before, and with a bias added last.
template <typename T>
void require_product_and_bias(int64_t M, int64_t N, int64_t K) {
  const auto a = numbers<T>(M * K, 1), b = numbers<T>(K * N, 2), bias = numbers<T>(N, 3);
  const kernels::MatrixView<T> A{a.data(), K, 1}, B{b.data(), 1, K};
  std::vector<T> clear(static_cast<size_t>(M * N)), fast(clear.size(), std::numeric_limits<T>::quiet_NaN()), biased = fast;
  kernels::matmul_add_clear(M, N, K, A, B, clear.data(), N);
  kernels::matmul(M, N, K, A, B, fast.data());
  kernels::linear(M, N, K, A, B, bias.data(), biased.data());
  CAPTURE(M, N, K);
  REQUIRE(fast == clear);
  for (size_t i = 0; i < clear.size(); ++i) clear[i] += bias[i % bias.size()];
  REQUIRE(biased == clear);
}

constexpr int64_t kLarge[][3] = {{130, 300, 257}, {3, 257, 1030}, {257, 3, 515},
                                 {64, 256, 256},  {65, 513, 300}, {264, 400, 513}};

}  // namespace

TEST_CASE("the tiled product has the bits of the three loops at every size around its edges", "[tensor]") {
  for (const int64_t M : {0, 1, 2, 7, 8, 9, 64, 65}) {
    for (const int64_t N : {0, 1, 5, 15, 16, 17, 31, 32, 33, 48, 65}) {
      for (const int64_t K : {0, 1, 2, 31, 32}) {
        require_same_bits<float>(M, N, K);
        require_same_bits<double>(M, N, K);
      }
    }
  }
  for (const auto& [M, N, K] : kLarge) {
    require_same_bits<float>(M, N, K);
    require_same_bits<double>(M, N, K);
  }
}

TEST_CASE("a product from zero has the same bits and reads nothing of C; a bias comes last", "[tensor]") {
  for (const int64_t M : {1, 8, 13}) {
    for (const int64_t N : {1, 15, 16, 33, 48}) {
      for (const int64_t K : {0, 1, 31}) {
        require_product_and_bias<float>(M, N, K);
        require_product_and_bias<double>(M, N, K);
      }
    }
  }
  for (const auto& [M, N, K] : kLarge) {
    require_product_and_bias<float>(M, N, K);
    require_product_and_bias<double>(M, N, K);
  }
}

TEST_CASE("an element of a product does not depend on the rows and columns around it", "[tensor]") {
  const Tensor a = Tensor::from(numbers<float>(70 * 40, 4), {70, 40}), b = Tensor::from(numbers<float>(40 * 90, 5), {40, 90});
  const Tensor whole = matmul(a, b);
  for (const int64_t rows : {1, 3, 17, 64}) {
    for (const int64_t columns : {1, 6, 33, 64}) {
      const Tensor part = matmul(a.narrow(0, 5, rows), b.narrow(1, 7, columns));
      CAPTURE(rows, columns);
      REQUIRE(part.to_vector() == whole.narrow(0, 5, rows).narrow(1, 7, columns).to_vector());
    }
  }
}

TEST_CASE("a batched product is the product of each batch, whatever its strides", "[tensor]") {
  const Tensor x = Tensor::from(numbers<double>(2 * 5 * 3 * 4, 6), {2, 5, 3, 4});  // [B, T, H, D]
  const Tensor q = x.permute({0, 2, 1, 3});                                        // [B, H, T, D]
  const Tensor scores = matmul(q, q.transpose(-2, -1));
  REQUIRE(scores.shape() == Shape{2, 3, 5, 5});
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 3; ++h) {
      const Tensor one = x.narrow(0, b, 1).narrow(2, h, 1).reshape({5, 4});
      REQUIRE(scores.narrow(0, b, 1).narrow(1, h, 1).to_vector() == matmul(one, one.transpose(0, 1)).to_vector());
    }
  }
}

TEST_CASE("products of wrong operands name the rule and the shapes", "[tensor]") {
  const Tensor a = Tensor::zeros({64, 32});
  REQUIRE_THROWS_WITH(matmul(a, Tensor::zeros({48, 96})), "matmul: inner dimensions differ, [64, 32] x [48, 96]");
  REQUIRE_THROWS_WITH(matmul(a, Tensor::zeros({32, 96}, DType::F64)), "matmul: dtypes differ, f32 x f64");
  REQUIRE_THROWS_WITH(matmul(a, Tensor::zeros({32})), Catch::Matchers::Contains("same rank"));
  REQUIRE_THROWS_WITH(matmul(Tensor::zeros({2, 2}, DType::I32), Tensor::zeros({2, 2}, DType::I32)),
                      Catch::Matchers::Contains("needs f32 or f64, got i32"));
  Tensor c = Tensor::zeros({64, 64});
  REQUIRE_THROWS_WITH(matmul_add_into(c, c, c), Catch::Matchers::Contains("shares its storage"));
}
