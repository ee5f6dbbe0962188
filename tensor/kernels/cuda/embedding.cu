#include "tensor/kernels/cuda/embedding.h"

#include "tensor/kernels/cuda/sort_positions.h"
#include "tensor/kernels/cuda/team.cuh"

namespace ringlet::kernels::cuda {
namespace {

// y[n, :] = table[ids[n], :]. A team to a position (team.cuh): its packs lie side by side in both.
template <int W, typename T>
__global__ __launch_bounds__(1024) void embedding_kernel(const T* table, const int32_t* ids, T* y, int64_t N, int64_t C,
                                                         int64_t V, bool aligned) {
  const int64_t n = team_row();
  if (n >= N) {
    return;
  }
  const int64_t id = ids[n];
  const bool fits = id >= 0 && id < V;
  for_each_pack<W>(C, [&](int64_t c) {
    Pack<T, W> row{};
    if (fits) {
      row = load_pack<W>(table + id * C + c, aligned);
    }
    store_pack(y + n * C + c, row, aligned);
  });
}

template <int W, typename T>
__device__ void add_pack(Accumulator<T> (&sum)[W], const Pack<T, W>& x) {
  for (int k = 0; k < W; ++k) {
    sum[k] += wide(x.v[k]);
  }
}

// dtable[id, :] += dy[n, :] for the n with ids[n] = id, ascending: the order of the CPU, and in fp32 and fp64 its bits.
//
// A warp takes 32 packs of columns and one place in the sorted list; where no run of equal ids begins there it is done, else it
// follows the run. It looks at 32 ids at once: a vote tells how many belong to the run, so the rows to add are known ahead and
// eight of them are on their way together. dy is read once. The longest run decides: an id at every tenth of 65,536 positions
// is 6,554 rows, some 800 waits for memory one after another, half a millisecond.
constexpr int kAhead = 8;
template <int W, typename T>
__global__ __launch_bounds__(256) void embedding_backward_kernel(const T* dy, SortedPositions sorted, T* dtable, int64_t N,
                                                                 int64_t C, int64_t V, bool aligned) {
  const int64_t begin = team_row(), c = (static_cast<int64_t>(blockIdx.y) * kLanes + threadIdx.x) * W;
  if (begin >= N) {
    return;
  }
  const int32_t id = sorted.ids[begin];
  if (id >= V || (begin > 0 && sorted.ids[begin - 1] == id)) {
    return;
  }
  T* row = dtable + id * C + c;
  Accumulator<T> sum[W];
  for (int k = 0; k < W; ++k) {
    sum[k] = c < C ? wide(row[k]) : Accumulator<T>(0);
  }
  for (int64_t at = begin;; at += kLanes) {
    const int64_t place = at + threadIdx.x;
    const unsigned in_run = __ballot_sync(kAllLanes, place < N && sorted.ids[place] == id);
    const int32_t position = place < N ? sorted.positions[place] : 0;
    const int count = __popc(in_run);  // they are the first, as ids are sorted
    for (int i = 0; i < count; i += kAhead) {
      Pack<T, W> gradient[kAhead];
      for (int k = 0; k < kAhead; ++k) {
        const int64_t n = __shfl_sync(kAllLanes, position, i + k);
        if (i + k < count && c < C) {
          gradient[k] = load_pack<W>(dy + n * C + c, aligned);
        }
      }
      for (int k = 0; k < kAhead; ++k) {
        if (i + k < count && c < C) {
          add_pack(sum, gradient[k]);
        }
      }
    }
    if (count < kLanes) {
      break;
    }
  }
  if (c < C) {
    for (int k = 0; k < W; ++k) {
      row[k] = static_cast<T>(sum[k]);
    }
  }
}

}  // namespace

template <typename T>
void embedding(const T* table, const int32_t* ids, T* y, int64_t N, int64_t C, int64_t V) {
  const dim3 block = team_block(C);
  with_width<T>(C, [&]<int W>() {
    launch(embedding_kernel<W, T>, team_grid(N, block), block, 0, table, ids, y, N, C, V,
           is_aligned<W>(table) && is_aligned<W>(y));
  });
}

template <typename T>
void embedding_backward(const T* dy, const int32_t* ids, T* dtable, int64_t N, int64_t C, int64_t V) {
  if (N == 0 || C == 0) {
    return;
  }
  const SortedPositions sorted = sort_positions(ids, N, V);
  with_width<T>(C, [&]<int W>() {
    const dim3 block(kLanes, 8);
    dim3 grid = team_grid(N, block);
    grid.y = static_cast<unsigned>((C + kLanes * W - 1) / (kLanes * W));
    launch(embedding_backward_kernel<W, T>, grid, block, 0, dy, sorted, dtable, N, C, V, is_aligned<W>(dy));
  });
}

#define RINGLET_INSTANTIATE(T)                                                      \
  template void embedding(const T*, const int32_t*, T*, int64_t, int64_t, int64_t); \
  template void embedding_backward(const T*, const int32_t*, T*, int64_t, int64_t, int64_t);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)

}  // namespace ringlet::kernels::cuda
