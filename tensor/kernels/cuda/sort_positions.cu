#include "tensor/kernels/cuda/sort_positions.h"

#include <bit>
#include <utility>

#include "tensor/kernels/cuda/scratch.h"
#include "tensor/kernels/cuda/team.cuh"

// A radix sort from the lowest digit up (Knuth, The Art of Computer Programming 3, 5.2.5): each pass is a counting sort by 8
// bits that keeps the order of equals, so the last one leaves ids sorted and equal ids in the order of their positions. In a
// pass every block counts the digits of its 1,024 keys; the counts, digit by digit and block by block within a digit, are
// summed up; and each key goes where that sum, plus the number of equals before it in its own block, says. Nothing depends on
// which block is faster.

namespace ringlet::kernels::cuda {
namespace {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
constexpr int kKeys = 1024;  // of a block, one for each thread; up to 256 keys are one block of 256

struct Keys {
  int32_t *ids, *positions;
};

__device__ int digit_of(int32_t id, int shift) { return (id >> shift) & (kDigits - 1); }

__global__ __launch_bounds__(kKeys) void begin_kernel(const int32_t* ids, int64_t N, int32_t V, Keys to) {
  const int64_t n = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n < N) {
    const int32_t id = ids[n];
    to.ids[n] = id >= 0 && id < V ? id : V;
    to.positions[n] = static_cast<int32_t>(n);
  }
}

// counts[digit · blocks + block]. Atomics on integers in shared memory: any order gives the same count.
__global__ __launch_bounds__(kKeys) void count_kernel(const int32_t* ids, int64_t N, int shift, int32_t* counts) {
  __shared__ int32_t count[kDigits];
  if (threadIdx.x < kDigits) {
    count[threadIdx.x] = 0;
  }
  __syncthreads();
  const int64_t n = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (n < N) {
    atomicAdd(&count[digit_of(ids[n], shift)], 1);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) {
    counts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x] = count[threadIdx.x];
  }
}

// x_i = Σ_{k < i} x_k in place, by one block: N / 4 numbers, 64 KB at N = 65,536. A thread sums a stretch, the sums of threads
// are added up by doubling distances (Hillis & Steele, 1986), and the thread goes over its stretch again.
__global__ __launch_bounds__(kKeys) void add_up_kernel(int32_t* x, int64_t n) {
  __shared__ int32_t sum[kKeys];
  const int64_t length = (n + blockDim.x - 1) / blockDim.x, begin = threadIdx.x * length,
                end = begin + length < n ? begin + length : n;
  int32_t mine = 0;
  for (int64_t i = begin; i < end; ++i) {
    mine += x[i];
  }
  sum[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    const int32_t before = threadIdx.x >= distance ? sum[threadIdx.x - distance] : 0;
    __syncthreads();
    sum[threadIdx.x] += before;
    __syncthreads();
  }
  int32_t running = sum[threadIdx.x] - mine;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t own = x[i];
    x[i] = running;
    running += own;
  }
}

// How many keys before this one in the block have its digit is counted by looking: on average 512 reads of shared memory that
// all lanes of a warp do at one address, some 10 us for 65,536 keys.
__global__ __launch_bounds__(kKeys) void move_kernel(Keys from, Keys to, int64_t N, int shift, const int32_t* first) {
  __shared__ int32_t digits[kKeys];
  const int64_t n = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int32_t id = n < N ? from.ids[n] : 0;
  const int mine = digit_of(id, shift);
  digits[threadIdx.x] = mine;
  __syncthreads();
  if (n >= N) {
    return;
  }
  int32_t before = 0;
  for (unsigned k = 0; k < threadIdx.x; ++k) {
    before += digits[k] == mine ? 1 : 0;
  }
  const int64_t place = first[static_cast<int64_t>(mine) * gridDim.x + blockIdx.x] + before;
  to.ids[place] = id;
  to.positions[place] = from.positions[n];
}

}  // namespace

SortedPositions sort_positions(const int32_t* ids, int64_t N, int64_t V) {
  const dim3 block(N <= kDigits ? kDigits : kKeys);
  const int64_t blocks = (N + block.x - 1) / block.x, counts = blocks * kDigits;
  auto* memory = scratch_for<int32_t>(4 * N + counts);
  Keys now{memory, memory + N}, next{memory + 2 * N, memory + 3 * N};
  int32_t* count = memory + 4 * N;
  const dim3 grid(static_cast<unsigned>(blocks));
  launch(begin_kernel, grid, block, 0, ids, N, static_cast<int32_t>(V), now);
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(V)));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    launch(count_kernel, grid, block, 0, now.ids, N, shift, count);
    launch(add_up_kernel, dim3(1), block, 0, count, counts);
    launch(move_kernel, grid, block, 0, now, next, N, shift, count);
    std::swap(now, next);
  }
  return {now.ids, now.positions};
}

}  // namespace ringlet::kernels::cuda
