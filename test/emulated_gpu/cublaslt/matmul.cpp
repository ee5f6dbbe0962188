// D = epilogue(alpha·op(A)·op(B) + beta·C), batch by batch.
//
// Every sum runs over k upwards in the type of the computation: fp32 for fp32 and bf16, fp64 for fp64. A device sums in another order.
// With TF32 the factors are rounded first.
#include <cuda_bf16.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "test/emulated_gpu/cublaslt/descriptors.h"
#include "test/emulated_gpu/runtime/knobs.h"
#include "test/emulated_gpu/runtime/memory.h"
#include "test/emulated_gpu/runtime/stream.h"

namespace {

struct Product {
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
  const void *A, *B, *C;
  void* D;
  double alpha, beta;              // in host pointer mode
  const void *alpha_at, *beta_at;  // in device pointer mode
};

double element(cudaDataType_t type, const void* from, int64_t i) {
  switch (type) {
    case CUDA_R_64F: return static_cast<const double*>(from)[i];
    case CUDA_R_16BF: return static_cast<float>(static_cast<const __nv_bfloat16*>(from)[i]);
    default: return static_cast<const float*>(from)[i];
  }
}

void set_element(cudaDataType_t type, void* to, int64_t i, double value) {
  switch (type) {
    case CUDA_R_64F: static_cast<double*>(to)[i] = value; break;
    case CUDA_R_16BF: static_cast<__nv_bfloat16*>(to)[i] = __nv_bfloat16(value); break;
    default: static_cast<float*>(to)[i] = static_cast<float>(value); break;
  }
}

int64_t place(const cublasLtMatrixLayoutOpaque_t& m, int64_t row, int64_t column) {
  return m.order == CUBLASLT_ORDER_ROW ? row * m.ld + column : column * m.ld + row;
}

// op(matrix) of one batch as dense rows: [rows, columns].
template <typename T>
std::vector<T> dense(const cublasLtMatrixLayoutOpaque_t& m, cublasOperation_t operation, const void* from, int64_t batch) {
  const bool transposed = operation != CUBLAS_OP_N;
  const auto rows = static_cast<int64_t>(transposed ? m.columns : m.rows);
  const auto columns = static_cast<int64_t>(transposed ? m.rows : m.columns);
  std::vector<T> to(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t at = batch * m.batch_stride + (transposed ? place(m, j, i) : place(m, i, j));
      to[static_cast<size_t>(i * columns + j)] = static_cast<T>(element(m.type, from, at));
    }
  }
  return to;
}

// To the nearest number with 10 bits of mantissa, a tie away from zero.
void round_to_tf32(std::vector<float>& values) {
  for (float& value : values) {
    if (std::isfinite(value)) {
      value = std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000U) & ~0x1fffU);
    }
  }
}

// sum = a·b, [M, K] x [K, N]. Rows of b in the inner loop: the compiler's vectors run over n, and k stays in order.
template <typename T>
void multiply(const T* a, const T* b, T* sum, int64_t M, int64_t N, int64_t K) {
  constexpr int64_t kBlock = 256;  // columns whose sums stay in the nearest cache
  for (int64_t begin = 0; begin < N; begin += kBlock) {
    const int64_t end = std::min(N, begin + kBlock);
    for (int64_t i = 0; i < M; ++i) {
      T* row = sum + i * N;
      std::fill(row + begin, row + end, T(0));
      for (int64_t k = 0; k < K; ++k) {
        const T factor = a[i * K + k];
        for (int64_t j = begin; j < end; ++j) {
          row[j] = std::fma(factor, b[k * N + j], row[j]);
        }
      }
    }
  }
}

template <typename T>
T gelu(T x) {  // the tanh form, as cuBLASLt has it
  const T inner = static_cast<T>(0.7978845608028654) * (x + static_cast<T>(0.044715) * x * x * x);
  return static_cast<T>(0.5) * x * (1 + std::tanh(inner));
}

cudaDataType_t bias_type(const Product& p) {
  return p.desc.bias_type < 0 ? p.d.type : static_cast<cudaDataType_t>(p.desc.bias_type);
}

template <typename T>
void finish(const Product& p, const std::vector<T>& sum, int64_t batch, T alpha, T beta) {
  const auto M = static_cast<int64_t>(p.d.rows), N = static_cast<int64_t>(p.d.columns);
  for (int64_t i = 0; i < M; ++i) {
    const bool adds_bias = (p.desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
    const T bias = adds_bias ? static_cast<T>(element(bias_type(p), p.desc.bias, batch * p.desc.bias_batch_stride + i)) : T(0);
    for (int64_t j = 0; j < N; ++j) {
      T y = alpha * sum[static_cast<size_t>(i * N + j)];
      if (beta != 0) {  // otherwise C is not read
        y += beta * static_cast<T>(element(p.c.type, p.C, batch * p.c.batch_stride + place(p.c, i, j)));
      }
      y = adds_bias ? y + bias : y;
      y = (p.desc.epilogue & CUBLASLT_EPILOGUE_RELU) != 0 ? std::max(y, T(0)) : y;
      y = (p.desc.epilogue & CUBLASLT_EPILOGUE_GELU) != 0 ? gelu(y) : y;
      set_element(p.d.type, p.D, batch * p.d.batch_stride + place(p.d, i, j), static_cast<double>(y));
    }
  }
}

// BGRADA: sums over k of op(A), one for each row of D. BGRADB: of op(B), one for each column.
template <typename T>
void write_bias_gradient(const Product& p, const std::vector<T>& a, const std::vector<T>& b, int64_t batch, int64_t K) {
  const bool of_a = p.desc.epilogue == CUBLASLT_EPILOGUE_BGRADA;
  const auto count = static_cast<int64_t>(of_a ? p.d.rows : p.d.columns);
  for (int64_t i = 0; i < count; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < K; ++k) {
      sum += of_a ? a[static_cast<size_t>(i * K + k)] : b[static_cast<size_t>(k * count + i)];
    }
    set_element(bias_type(p), p.desc.bias, batch * p.desc.bias_batch_stride + i, static_cast<double>(sum));
  }
}

template <typename T>
void compute(const Product& p) {
  const auto M = static_cast<int64_t>(p.d.rows), N = static_cast<int64_t>(p.d.columns);
  const auto K = static_cast<int64_t>(p.desc.operation_a == CUBLAS_OP_N ? p.a.columns : p.a.rows);
  const bool on_device = p.desc.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  const T alpha = on_device ? *static_cast<const T*>(p.alpha_at) : static_cast<T>(p.alpha);
  const T beta = on_device ? *static_cast<const T*>(p.beta_at) : static_cast<T>(p.beta);
  std::vector<T> sum(static_cast<size_t>(M * N));
  for (int64_t batch = 0; batch < p.d.batches; ++batch) {
    auto a = dense<T>(p.a, p.desc.operation_a, p.A, batch), b = dense<T>(p.b, p.desc.operation_b, p.B, batch);
    if constexpr (std::is_same_v<T, float>) {
      if (p.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32) {
        round_to_tf32(a), round_to_tf32(b);
      }
    }
    multiply(a.data(), b.data(), sum.data(), M, N, K);
    finish(p, sum, batch, alpha, beta);
    if (p.desc.epilogue == CUBLASLT_EPILOGUE_BGRADA || p.desc.epilogue == CUBLASLT_EPILOGUE_BGRADB) {
      write_bias_gradient(p, a, b, batch, K);
    }
  }
}

// What the documentation of cublasLtMatmul lists as supported, as far as it is said here.
cublasStatus_t check(const cublasLtMatmulDescOpaque_t& desc, const cublasLtMatrixLayoutOpaque_t& a,
                     const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& c,
                     const cublasLtMatrixLayoutOpaque_t& d) {
  const uint64_t m = desc.operation_a == CUBLAS_OP_N ? a.rows : a.columns,
                 k = desc.operation_a == CUBLAS_OP_N ? a.columns : a.rows;
  const uint64_t k_of_b = desc.operation_b == CUBLAS_OP_N ? b.rows : b.columns;
  const uint64_t n = desc.operation_b == CUBLAS_OP_N ? b.columns : b.rows;
  const bool shapes = k == k_of_b && d.rows == m && d.columns == n && c.rows == m && c.columns == n;
  for (const auto* layout : {&a, &b, &c, &d}) {
    const uint64_t least = layout->order == CUBLASLT_ORDER_ROW ? layout->columns : layout->rows;
    if (layout->ld < static_cast<int64_t>(least) || layout->batches != d.batches || layout->rows == 0 || layout->columns == 0) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  if (!shapes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool wide = desc.compute == CUBLAS_COMPUTE_64F || desc.compute == CUBLAS_COMPUTE_64F_PEDANTIC;
  const bool types = a.type == b.type && c.type == d.type && (wide == (a.type == CUDA_R_64F)) &&
                     (wide == (d.type == CUDA_R_64F)) && desc.scale == (wide ? CUDA_R_64F : CUDA_R_32F) &&
                     !(a.type == CUDA_R_32F && d.type == CUDA_R_16BF);
  // No epilogue but the default one in fp64; those with a bias only where D lies in columns.
  const bool epilogue = desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT || (!wide && d.order == CUBLASLT_ORDER_COL);
  return types && epilogue ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  *found = 0;
  if (requested < 1) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (ringlet::emulated_gpu::count_call("cublasLtMatmulAlgoGetHeuristic") != cudaSuccess) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const cublasStatus_t status = check(*desc, *a, *b, *c, *d);
  if (status == CUBLAS_STATUS_SUCCESS) {
    *found = 1;
    results[0] = {};
  }
  return status;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha, const void* A,
                              cublasLtMatrixLayout_t layout_a, const void* B, cublasLtMatrixLayout_t layout_b, const void* beta,
                              const void* C, cublasLtMatrixLayout_t layout_c, void* D, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  if (ringlet::emulated_gpu::count_call("cublasLtMatmul") != cudaSuccess) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  if (const cublasStatus_t status = check(*desc, *layout_a, *layout_b, *layout_c, *layout_d); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const bool on_host = desc->pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  Product product{*desc, *layout_a, *layout_b, *layout_c, *layout_d, A, B, C, D, 0, 0, alpha, beta};
  if (on_host) {
    product.alpha = element(desc->scale, alpha, 0);
    product.beta = element(desc->scale, beta, 0);
  }
  for (const void* pointer : {A, B, static_cast<const void*>(D)}) {
    if (!ringlet::emulated_gpu::is_on_device(pointer)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  const cudaError_t error = ringlet::emulated_gpu::submit(
      stream, [product] { product.desc.scale == CUDA_R_64F ? compute<double>(product) : compute<float>(product); });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
