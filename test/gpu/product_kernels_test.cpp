// Products on the GPU against three loops on the CPU: the clear form to the bit, cuBLASLt's to a bound of its rounding errors.
#include <algorithm>
#include <cmath>
#include <string>

#include "tensor/kernels/cpu/matmul.h"
#include "tensor/kernels/cuda/matmul.h"
#include "test/gpu/device_vector.h"
#include "test/gpu/every_order.h"
#include "test/tensor/values.h"

using namespace ringlet;
using kernels::MatrixView;
using ringlet::test::in_every_order;
using ringlet::test::same_bits;

namespace {

// Unit roundoff of the type in which sums are made, and of the one in which they are stored.
template <typename T>
constexpr double kSumRoundoff = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
template <typename T>
constexpr double kRoundoff = std::is_same_v<T, bf16> ? 0x1p-8 : kSumRoundoff<T>;

template <typename T>
std::vector<T> values(int64_t n, const std::string& name) {
  std::vector<T> all;
  for (const double x : test::normals<double>(n, name)) {
    all.push_back(T(static_cast<float>(x)));
  }
  return all;
}

// How a matrix lies in memory.
enum class Lies { InRows, InColumns, Apart };
MatrixView<double> strides(Lies lies, int64_t rows, int64_t columns) {
  switch (lies) {
    case Lies::InRows: return {nullptr, columns + 3, 1};
    case Lies::InColumns: return {nullptr, 1, rows};
    default: return {nullptr, 2 * columns, 2};  // cuBLASLt has no name for it
  }
}
template <typename T>
MatrixView<T> view(const T* data, MatrixView<double> like) {
  return {data, like.row, like.col};
}

struct Case {
  int64_t M, N, K;
  Lies a, b;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Lies a : {Lies::InRows, Lies::InColumns, Lies::Apart}) {
    for (const Lies b : {Lies::InRows, Lies::InColumns}) {
      for (const auto& [M, N, K] : {std::tuple{1, 1, 1}, {1, 40, 17}, {33, 1, 16}, {16, 16, 15}, {17, 64, 65}, {40, 33, 130}}) {
        all.push_back({M, N, K, a, b});
      }
    }
  }
  all.push_back({5, 7, 0, Lies::InRows, Lies::InRows});
  return all;
}

template <typename T>
struct Operands {
  explicit Operands(const Case& c)
      : a(values<T>(2 * (c.M + 3) * (c.K + 3), "a")),
        b(values<T>(2 * (c.K + 3) * (c.N + 3), "b")),
        bias(values<T>(c.N, "bias")) {}
  std::vector<T> a, b, bias;
};

// The most by which y differs from begin + A·B + bias, in units of what it may: the rounding errors of any order of summation, K + 2
// terms and one rounding to T, after a relative error `of_product` of each product.
template <typename T>
double worst_error(const Case& c, const Operands<T>& x, const T* begin, const T* bias, const T* y, double of_product = 0) {
  const auto A = view(x.a.data(), strides(c.a, c.M, c.K)), B = view(x.b.data(), strides(c.b, c.K, c.N));
  double worst = 0;
  for (int64_t i = 0; i < c.M; ++i) {
    for (int64_t j = 0; j < c.N; ++j) {
      double sum = 0, magnitude = 0;
      const auto add = [&](double term) { sum += term, magnitude += std::fabs(term); };
      for (int64_t k = 0; k < c.K; ++k) {
        add(static_cast<double>(A(i, k)) * static_cast<double>(B(k, j)));
      }
      add(begin != nullptr ? static_cast<double>(begin[i * c.N + j]) : 0);
      add(bias != nullptr ? static_cast<double>(bias[j]) : 0);
      const double of_term = static_cast<double>(2 * c.K + 4) * kSumRoundoff<T> + of_product;
      const double bound = of_term * magnitude + kRoundoff<T> * std::fabs(sum);
      worst = std::max(worst, std::fabs(static_cast<double>(y[i * c.N + j]) - sum) / std::max(bound, 1e-300));
    }
  }
  return worst;
}
template <typename T>
void check_product(const Case& c, const Operands<T>& x, const T* begin, const T* bias, const T* y) {
  CHECK(worst_error(c, x, begin, bias, y) <= 1.0);
}

}  // namespace

TEMPLATE_TEST_CASE("matmul_add_clear on the GPU: the bits of the CPU", "[gpu]", float, double) {
  using T = TestType;
  for (const Case& c : cases()) {
    const Operands<T> x(c);
    const std::vector<T> begin = values<T>(c.M * (c.N + 2), "c");
    const auto a = strides(c.a, c.M, c.K), b = strides(c.b, c.K, c.N);
    std::vector<T> expected = begin;
    kernels::matmul_add_clear(c.M, c.N, c.K, view(x.a.data(), a), view(x.b.data(), b), expected.data(), c.N + 2);
    const std::vector<T> result = in_every_order([&] {
      const DeviceVector<T> A(x.a), B(x.b), C(begin);
      kernels::cuda::matmul_add_clear(c.M, c.N, c.K, view(A.data(), a), view(B.data(), b), C.data(), c.N + 2);
      return C.values();
    });
    CHECK(same_bits(result, expected));
  }
}

TEMPLATE_TEST_CASE("matmul, matmul_add and linear on the GPU: right to rounding, for every way to lie", "[gpu]", float, double,
                   bf16) {
  using T = TestType;
  for (const Case& c : cases()) {
    const Operands<T> x(c);
    const std::vector<T> begin = values<T>(c.M * c.N, "c");
    const DeviceVector<T> A(x.a), B(x.b), bias(x.bias);
    const auto a = view(A.data(), strides(c.a, c.M, c.K)), b = view(B.data(), strides(c.b, c.K, c.N));
    INFO(c.M << " x " << c.N << " x " << c.K << ", lies " << static_cast<int>(c.a) << " " << static_cast<int>(c.b));
    const auto with = [&](auto&& kernel) {
      return in_every_order([&] {
        const DeviceVector<T> C(begin);
        kernel(C.data());
        return C.values();
      });
    };
    check_product<T>(c, x, nullptr, nullptr, with([&](T* C) { kernels::cuda::matmul(c.M, c.N, c.K, a, b, C); }).data());
    check_product<T>(c, x, begin.data(), nullptr,
                     with([&](T* C) { kernels::cuda::matmul_add(c.M, c.N, c.K, a, b, C, c.N); }).data());
    check_product<T>(c, x, nullptr, x.bias.data(),
                     with([&](T* C) { kernels::cuda::linear(c.M, c.N, c.K, a, b, bias.data(), C); }).data());
  }
}

TEST_CASE("matmul on the GPU with TF32: products of f32 alone, off by what two roundings to 10 bits of mantissa cost",
          "[gpu]") {
  const Case c{40, 33, 130, Lies::InRows, Lies::InColumns};
  const auto error = [&]<typename T>(const Operands<T>& x, double of_product) {
    const DeviceVector<T> A(x.a), B(x.b), C(std::vector<T>(static_cast<size_t>(c.M * c.N)));
    kernels::cuda::matmul(c.M, c.N, c.K, view(A.data(), strides(c.a, c.M, c.K)), view(B.data(), strides(c.b, c.K, c.N)),
                          C.data());
    return worst_error<T>(c, x, nullptr, nullptr, C.values().data(), of_product);
  };
  const double both = 2 * 0x1p-11 + 0x1p-22;  // (1 + 2^-11)² − 1
  kernels::cuda::allow_tf32(true);
  CHECK(error(Operands<float>(c), both) <= 1.0);
  CHECK(error(Operands<float>(c), 0.0) > 1.0);
  CHECK(error(Operands<double>(c), 0.0) <= 1.0);
  CHECK(error(Operands<bf16>(c), 0.0) <= 1.0);
  kernels::cuda::allow_tf32(false);
  CHECK(error(Operands<float>(c), 0.0) <= 1.0);
}

TEST_CASE("matmul_batched on the GPU: batches at any distances, few calls of cuBLASLt", "[gpu]") {
  const int64_t M = 5, N = 6, K = 7, batches = 6;
  const std::vector<float> a = values<float>(1000, "a"), b = values<float>(1000, "b");
  // Three at equal distances, one from which it goes back, two at another distance.
  const std::vector<int64_t> a_offset{0, 50, 100, 300, 250, 500}, b_offset{0, 0, 0, 100, 50, 400};
  const DeviceVector<float> A(a), B(b), C(static_cast<size_t>(batches * M * N));
#ifdef RINGLET_EMULATED_GPU
  const uint64_t before = emulated_gpu::calls("cublasLtMatmul");
#endif
  kernels::cuda::matmul_batched<float>(batches, M, N, K, {A.data(), K, 1}, a_offset.data(), {B.data(), 1, K}, b_offset.data(),
                                       C.data());
#ifdef RINGLET_EMULATED_GPU
  CHECK(emulated_gpu::calls("cublasLtMatmul") - before == 3);
#endif
  const std::vector<float> result = C.values();
  for (size_t i = 0; i < a_offset.size(); ++i) {
    std::vector<float> expected(static_cast<size_t>(M * N));
    kernels::matmul_add_clear<float>(M, N, K, {a.data() + a_offset[i], K, 1}, {b.data() + b_offset[i], 1, K}, expected.data(),
                                     N);
    CHECK(same_bits(expected,
                    {result.begin() + static_cast<int64_t>(i) * M * N, result.begin() + static_cast<int64_t>(i + 1) * M * N}));
  }
}

#ifdef RINGLET_EMULATED_GPU
TEST_CASE("A shape asks cuBLASLt for a kernel once", "[gpu]") {
  const DeviceVector<float> A(values<float>(64, "a")), B(values<float>(64, "b")), C(size_t{64});
  const auto multiply = [&] { kernels::cuda::matmul<float>(8, 8, 8, {A.data(), 8, 1}, {B.data(), 8, 1}, C.data()); };
  multiply();
  const uint64_t asked = emulated_gpu::calls("cublasLtMatmulAlgoGetHeuristic"), allocated = emulated_gpu::calls("cudaMalloc");
  multiply();
  CHECK(emulated_gpu::calls("cublasLtMatmulAlgoGetHeuristic") == asked);
  CHECK(emulated_gpu::calls("cudaMalloc") == allocated);
}
#endif

TEST_CASE("Recorded products take what the factors hold when they run", "[gpu]") {
  const std::vector<float> a = values<float>(64, "a"), b = values<float>(64, "b"), other = values<float>(64, "other");
  const DeviceVector<float> A(a), B(b), bias(b), C(size_t{64}), D(size_t{64}), from(other);
  const auto multiply = [&](const DeviceVector<float>& to) {
    kernels::cuda::linear<float>(8, 8, 8, {A.data(), 8, 1}, {B.data(), 8, 1}, bias.data(), to.data());
  };
  multiply(C);  // what a thread needs for products is there before they are recorded
  using kernels::cuda::check_cuda;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t recorded = nullptr;
  check_cuda(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  multiply(C);
  check_cuda(cudaStreamEndCapture(cudaStreamPerThread, &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphInstantiate(&recorded, graph, 0), "cudaGraphInstantiate");
  check_cuda(cudaMemcpyAsync(A.data(), from.data(), 64 * sizeof(float), cudaMemcpyDeviceToDevice, cudaStreamPerThread), "copy");
  check_cuda(cudaGraphLaunch(recorded, cudaStreamPerThread), "cudaGraphLaunch");
  multiply(D);
  CHECK(same_bits(C.values(), D.values()));
  check_cuda(cudaGraphExecDestroy(recorded), "cudaGraphExecDestroy");
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}
