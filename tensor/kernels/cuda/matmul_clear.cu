#include "tensor/kernels/cuda/matmul_clear.h"

#include "tensor/base/dtype.h"
#include "tensor/kernels/cuda/launch.h"
#include "tensor/kernels/cuda/math.cuh"

namespace ringlet::kernels::cuda {
namespace {

constexpr int kSide = 16;

// A block of 16 x 16 threads makes a tile of C of that size, an element each. Tiles of A and B come into shared memory once for 16
// uses: 16 times fewer loads than three loops would make. The column more keeps a column of a tile out of one memory bank. The last
// tile along k stops at K instead of adding zeros, which would turn −0 into +0.
template <typename T>
__global__ void matmul_clear_kernel(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc,
                                    Ends<T> ends) {
  using Sum = Accumulator<T>;
  __shared__ Sum a[kSide][kSide + 1], b[kSide][kSide + 1];
  const int row = static_cast<int>(threadIdx.y), column = static_cast<int>(threadIdx.x);
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kSide + row, j = static_cast<int64_t>(blockIdx.y) * kSide + column;
  const bool inside = i < M && j < N;
  Sum c = inside && ends.from_c ? static_cast<Sum>(C[i * ldc + j]) : Sum(0);
  for (int64_t begin = 0; begin < K; begin += kSide) {
    a[row][column] = i < M && begin + column < K ? static_cast<Sum>(A(i, begin + column)) : Sum(0);
    b[row][column] = begin + row < K && j < N ? static_cast<Sum>(B(begin + row, j)) : Sum(0);
    __syncthreads();
    const int depth = K - begin < kSide ? static_cast<int>(K - begin) : kSide;
    for (int k = 0; k < depth; ++k) {
      c = fused(a[row][k], b[k][column], c);
    }
    __syncthreads();
  }
  if (inside) {
    C[i * ldc + j] = static_cast<T>(ends.bias == nullptr ? c : c + static_cast<Sum>(ends.bias[j]));
  }
}

}  // namespace

template <typename T>
void matmul_clear(int64_t M, int64_t N, int64_t K, MatrixView<T> A, MatrixView<T> B, T* C, int64_t ldc, Ends<T> ends) {
  const dim3 grid(static_cast<unsigned>((M + kSide - 1) / kSide), static_cast<unsigned>((N + kSide - 1) / kSide));
  launch(matmul_clear_kernel<T>, grid, dim3(kSide, kSide), 0, M, N, K, A, B, C, ldc, ends);
}

#define RINGLET_INSTANTIATE(T) \
  template void matmul_clear(int64_t, int64_t, int64_t, MatrixView<T>, MatrixView<T>, T*, int64_t, Ends<T>);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)
#undef RINGLET_INSTANTIATE

}  // namespace ringlet::kernels::cuda
