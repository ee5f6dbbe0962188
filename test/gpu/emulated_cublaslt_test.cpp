// The emulated cuBLASLt computes what its documentation says. Small integers: every sum is exact, in every type.
#include <cublasLt.h>
#include <cuda_bf16.h>

#include <algorithm>
#include <string>

#include "test/gpu/device_vector.h"
#include "test/support/catch.h"

namespace {

template <typename T>
constexpr cudaDataType_t kType = CUDA_R_32F;
template <>
constexpr cudaDataType_t kType<double> = CUDA_R_64F;
template <>
constexpr cudaDataType_t kType<__nv_bfloat16> = CUDA_R_16BF;

struct Matrix {
  size_t rows, columns, ld;
  cublasLtOrder_t order;
  bool transposed;  // rows and columns are those of op(matrix)
  size_t at(size_t i, size_t j) const {
    if (transposed) {
      std::swap(i, j);
    }
    return order == CUBLASLT_ORDER_ROW ? i * ld + j : j * ld + i;
  }
  size_t size() const { return ld * std::max(rows, columns); }  // of one batch, at most
};

template <typename T>
std::vector<T> small_integers(size_t n, int seed) {
  std::vector<T> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<T>(static_cast<float>((static_cast<int>(i) * 7 + seed) % 5 - 2));
  }
  return values;
}

template <typename T>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, T value) {
  REQUIRE(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
}
template <typename T>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, T value) {
  REQUIRE(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
}

template <typename T>
cublasLtMatrixLayout_t layout_of(const Matrix& m, int batches) {
  cublasLtMatrixLayout_t layout = nullptr;
  const size_t rows = m.transposed ? m.columns : m.rows, columns = m.transposed ? m.rows : m.columns;
  REQUIRE(cublasLtMatrixLayoutCreate(&layout, kType<T>, rows, columns, static_cast<int64_t>(m.ld)) == CUBLAS_STATUS_SUCCESS);
  set(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, m.order);
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batches));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, static_cast<int64_t>(m.size()));
  return layout;
}

// D = epilogue(2·A·B + beta·C) by cuBLASLt and by loops, for matrices of any layout.
template <typename T>
void compare(const Matrix& a, const Matrix& b, const Matrix& d, int batches, cublasLtEpilogue_t epilogue, float beta_value) {
  using Scale = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const auto A = small_integers<T>(a.size() * batches, 1), B = small_integers<T>(b.size() * batches, 2);
  const auto C = small_integers<T>(d.size() * batches, 3), bias = small_integers<T>(std::max(d.rows, d.columns), 4);
  const DeviceVector<T> device_a(A), device_b(B), device_c(C), device_d(C), device_bias(bias);
  cublasLtHandle_t handle = nullptr;
  REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDesc_t desc = nullptr;
  const bool wide = std::is_same_v<T, double>;
  REQUIRE(cublasLtMatmulDescCreate(&desc, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, kType<Scale>) ==
          CUBLAS_STATUS_SUCCESS);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSA, a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSB, b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, device_bias.data());
  const cublasLtMatrixLayout_t la = layout_of<T>(a, batches), lb = layout_of<T>(b, batches), ld = layout_of<T>(d, batches);
  cublasLtMatmulPreference_t preference = nullptr;
  REQUIRE(cublasLtMatmulPreferenceCreate(&preference) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  REQUIRE(cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, ld, ld, preference, 1, &found, &count) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(count == 1);
  const Scale alpha = 2, beta = beta_value;
  REQUIRE(cublasLtMatmul(handle, desc, &alpha, device_a.data(), la, device_b.data(), lb, &beta, device_c.data(), ld,
                         device_d.data(), ld, &found.algo, nullptr, 0, cudaStreamPerThread) == CUBLAS_STATUS_SUCCESS);

  std::vector<T> expected = C, bias_after = bias;
  for (size_t batch = 0; batch < static_cast<size_t>(batches); ++batch) {
    for (size_t i = 0; i < d.rows; ++i) {
      for (size_t j = 0; j < d.columns; ++j) {
        Scale sum = 0;
        for (size_t k = 0; k < a.columns; ++k) {
          sum += static_cast<Scale>(A[batch * a.size() + a.at(i, k)]) * static_cast<Scale>(B[batch * b.size() + b.at(k, j)]);
        }
        const size_t at = batch * d.size() + d.at(i, j);
        sum = alpha * sum + beta * static_cast<Scale>(C[at]);
        expected[at] = static_cast<T>(sum + (epilogue == CUBLASLT_EPILOGUE_BIAS ? static_cast<Scale>(bias[i]) : Scale(0)));
      }
    }
  }
  const bool of_a = epilogue == CUBLASLT_EPILOGUE_BGRADA, of_b = epilogue == CUBLASLT_EPILOGUE_BGRADB;
  for (size_t i = 0; i < (of_a ? d.rows : of_b ? d.columns : 0); ++i) {
    Scale sum = 0;
    for (size_t k = 0; k < a.columns; ++k) {
      sum += static_cast<Scale>(of_a ? A[a.at(i, k)] : B[b.at(k, i)]);
    }
    bias_after[i] = static_cast<T>(sum);
  }
  const auto same = [](const T& x, const T& y) { return static_cast<Scale>(x) == static_cast<Scale>(y); };
  const auto D = device_d.values(), bias_now = device_bias.values();
  CHECK(std::equal(D.begin(), D.end(), expected.begin(), same));
  CHECK(std::equal(bias_now.begin(), bias_now.end(), bias_after.begin(), same));
  cublasLtMatmulPreferenceDestroy(preference);
  for (const auto layout : {la, lb, ld}) {
    cublasLtMatrixLayoutDestroy(layout);
  }
  cublasLtMatmulDescDestroy(desc);
  cublasLtDestroy(handle);
}

}  // namespace

TEMPLATE_TEST_CASE("cublasLtMatmul is what loops are, in every layout", "[emulated_cublaslt]", float, double, __nv_bfloat16) {
  constexpr size_t kM = 7, kN = 9, kK = 11, kLd = 13;
  for (const auto order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
    for (const bool transposed_a : {false, true}) {
      for (const bool transposed_b : {false, true}) {
        for (const float beta : {0.0F, 1.0F}) {
          const Matrix a{kM, kK, kLd, order, transposed_a}, b{kK, kN, kLd, order, transposed_b}, d{kM, kN, kLd, order, false};
          compare<TestType>(a, b, d, 1, CUBLASLT_EPILOGUE_DEFAULT, beta);
          compare<TestType>(a, b, d, 3, CUBLASLT_EPILOGUE_DEFAULT, beta);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("cublasLtMatmul adds a bias and sums its gradient", "[emulated_cublaslt]", float, __nv_bfloat16) {
  const Matrix a{7, 11, 13, CUBLASLT_ORDER_COL, true}, b{11, 9, 13, CUBLASLT_ORDER_COL, false};
  const Matrix d{7, 9, 13, CUBLASLT_ORDER_COL, false};
  for (const auto epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB}) {
    compare<TestType>(a, b, d, 1, epilogue, 1.0F);
  }
}

TEST_CASE("cublasLtMatmul refuses shapes that do not fit, and what the device's library lacks", "[emulated_cublaslt]") {
  const Matrix a{4, 5, 8, CUBLASLT_ORDER_COL, false}, b{6, 4, 8, CUBLASLT_ORDER_COL, false},
      d{4, 4, 8, CUBLASLT_ORDER_COL, false};
  const auto la = layout_of<float>(a, 1), lb = layout_of<float>(b, 1), ld = layout_of<float>(d, 1);
  cublasLtMatmulDesc_t desc = nullptr;
  REQUIRE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 1;
  CHECK(cublasLtMatmulAlgoGetHeuristic(nullptr, desc, la, lb, ld, ld, nullptr, 1, &found, &count) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK(count == 0);
  set(lb, CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t{5});
  CHECK(cublasLtMatmulAlgoGetHeuristic(nullptr, desc, la, lb, ld, ld, nullptr, 1, &found, &count) == CUBLAS_STATUS_SUCCESS);
  set(desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_64F);
  CHECK(cublasLtMatmulAlgoGetHeuristic(nullptr, desc, la, lb, ld, ld, nullptr, 1, &found, &count) ==
        CUBLAS_STATUS_NOT_SUPPORTED);
  for (const auto layout : {la, lb, ld}) {
    cublasLtMatrixLayoutDestroy(layout);
  }
  cublasLtMatmulDescDestroy(desc);
}
