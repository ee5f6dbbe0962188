#include "collectives/nccl/reduce_in_order.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <type_traits>

#include "collectives/nccl/nccl_errors.h"

namespace ringlet {
namespace {

// One thread per element in turn: neighbours read neighbours, so that a warp reads whole lines of each input. A thread has few
// values alive; 256 of them per block and 8 blocks per multiprocessor keep enough loads under way to fill the memory's pipe.
constexpr int kThreads = 256;
constexpr int64_t kBlocks = 132 * 8;
constexpr int kLevels = 17;  // log2 of the number of inputs, and one

__device__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T>
__device__ T widen(T x) {
  return x;
}
template <typename T, typename A>
__device__ T narrow(A x) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    return __float2bfloat16_rn(x);
  } else {
    return static_cast<T>(x);
  }
}

// Signed integers wrap by way of unsigned ones.
template <typename A, bool product>
__device__ A wrapping(A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    using U = std::make_unsigned_t<A>;
    const auto x = static_cast<U>(a), y = static_cast<U>(b);
    return static_cast<A>(static_cast<U>(product ? x * y : x + y));
  } else {
    return product ? a * b : a + b;
  }
}

// Of the kind, equal numbers differ only as zeros: 1/−0 is −inf.
template <typename A>
__device__ bool is_negative_zero(A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    return a == b && a == A(0) && A(1) / a < A(0);
  } else {
    return false;
  }
}

// a != a is true of NaN alone; a NaN in b makes the comparison false, so b is taken. −0 is smaller than 0.
template <typename A>
__device__ A combine(ReduceOp op, A a, A b) {
  switch (op) {
    case ReduceOp::Min: return (a < b || a != a || is_negative_zero(a, b)) ? a : b;
    case ReduceOp::Max: return (a > b || a != a || is_negative_zero(b, a)) ? a : b;
    case ReduceOp::Prod: return wrapping<A, true>(a, b);
    default: return wrapping<A, false>(a, b);
  }
}

// T(n) = T(first 2^k) + T(rest), by a binary counter: level l holds the sum of 2^l neighbours while bit l of the count is set. At the
// end the lowest of them is in `sum`, and the higher ones come before it.
template <typename T, typename A, typename Load>
__device__ A tree(int ranks, ReduceOp op, Load load) {
  A level[kLevels];
  A sum{};
  int l = 0;
  for (int k = 0; k < ranks; ++k) {
    sum = load(k);
    for (l = 0; (k >> l) % 2 == 1; ++l) {
      sum = combine(op, level[l], sum);
    }
    level[l] = sum;
  }
  for (++l; ranks >> l != 0; ++l) {
    sum = (ranks >> l) % 2 == 1 ? combine(op, level[l], sum) : sum;
  }
  return sum;
}

template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, __nv_bfloat16>, float, T>;

template <typename T>
__global__ void reduce_in_order(NcclInputs inputs, T* out, int64_t n, ReduceOp op, Sum<T> factor) {
  using A = Sum<T>;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const T* others = static_cast<const T*>(inputs.others);
  const T* own = static_cast<const T*>(inputs.own);
  for (int64_t i = first; i < n; i += step) {
    const auto load = [&](int k) -> A {
      const A x = widen(k == inputs.own_rank ? own[i] : others[k * inputs.stride + i]);
      return op == ReduceOp::PreMulSum ? x * factor : x;  // rounded before it is added, as on the host
    };
    const A total = tree<T, A>(inputs.ranks, op, load);
    out[i] = narrow<T>(op == ReduceOp::Avg ? total / static_cast<A>(inputs.ranks) : total);
  }
}

template <typename T>
void queue(void* stream, NcclInputs inputs, void* out, int64_t n, Reduction op) {
  const auto blocks = static_cast<unsigned>(std::min((n + kThreads - 1) / kThreads, kBlocks));
  auto* result = static_cast<T*>(out);
  ReduceOp what = op.op;
  auto factor = static_cast<Sum<T>>(op.factor);
  void* arguments[] = {&inputs, &result, &n, &what, &factor};
  check_cuda(
      cudaLaunchKernel(reduce_in_order<T>, dim3(blocks), dim3(kThreads), arguments, 0, static_cast<cudaStream_t>(stream)),
      "reduce_in_order");
}

}  // namespace

void queue_reduce_in_order(void* stream, const NcclInputs& inputs, void* out, int64_t n, DType dtype, Reduction op) {
  if (n == 0) {
    return;
  }
  switch (dtype) {
    case DType::F32: return queue<float>(stream, inputs, out, n, op);
    case DType::F64: return queue<double>(stream, inputs, out, n, op);
    case DType::BF16: return queue<__nv_bfloat16>(stream, inputs, out, n, op);
    case DType::I32: return queue<int32_t>(stream, inputs, out, n, op);
    case DType::I64: return queue<int64_t>(stream, inputs, out, n, op);
    case DType::U8: return queue<uint8_t>(stream, inputs, out, n, op);
  }
}

}  // namespace ringlet
