#include "tensor/kernels/cuda/attention.h"

#include "tensor/kernels/cuda/attention_tensor_core.h"
#include "tensor/kernels/cuda/attention_tile.cuh"
#include "tensor/kernels/cuda/math.cuh"

namespace ringlet::kernels::cuda {
namespace {

// seen[j] = how many of positions 0 … j are no padding; those positions, in order, in kept. A warp for each sequence, 32 positions at
// a time: the votes below a lane are the keys before it.
__global__ void attention_keys_kernel(int64_t T, const uint8_t* padded, int32_t* seen, int32_t* kept) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * T;
  const unsigned lane = threadIdx.x;
  int32_t count = 0;
  for (int64_t begin = 0; begin < T; begin += 32) {
    const int64_t j = begin + lane;
    const bool keeps = j < T && (padded == nullptr || padded[row + j] == 0);
    const unsigned votes = __ballot_sync(0xffffffffU, keeps ? 1 : 0);
    const int32_t before = count + __popc(votes & ((1U << lane) - 1U));
    if (keeps) {
      kept[row + before] = static_cast<int32_t>(j);
    }
    if (j < T) {
      seen[row + j] = before + (keeps ? 1 : 0);
    }
    count += __popc(votes);
  }
}

// The softmax of a row whose scores come tile by tile (Milakov & Gimelshein, 2018): the largest score m so far and Σ exp(s − m).
template <typename A>
struct OnlineSoftmax {
  A largest = -kInfinity<A>, sum = 0;

  /// 0 where nothing was seen but −∞: exp(−∞ − 0) = 0, where exp(−∞ + ∞) would be NaN.
  __device__ A shift() const { return largest == -kInfinity<A> ? A(0) : largest; }
  /// Takes the scores of the next tile, of which this thread has kKeys, and makes them exp(s − m). What was summed before has to be
  /// multiplied by the result.
  __device__ A add(A (&s)[kKeys<A>]) {
    const A before = largest;
    A tile_largest = s[0], tile_sum = 0;
    for (const A score : s) {
      tile_largest = larger(tile_largest, score);
    }
    largest = larger(largest, join_row(tile_largest, [](A a, A b) { return larger(a, b); }));
    for (A& score : s) {
      score = exp(score - shift());
      tile_sum += score;
    }
    const A correction = exp(before - shift());
    sum = fused(sum, correction, join_row(tile_sum, [](A a, A b) { return a + b; }));
    return correction;
  }
};

template <typename A, int D>
struct ForwardShared {
  TileRows<A, D> q, kv;
  TileWeights<A> p;
};

// s = q·kᵀ/√D, masked    p = softmax(s)    y = p·v          (Dao, Fu, Ermon, Rudra & Ré, "FlashAttention", 2022)
//
// A block makes a tile of rows of one head, its keys go by tile after tile. Long rows first: the last tiles of all heads have the most
// keys. A row takes its keys in their order, from its first to its last, whatever else lies in its tiles, so it is a function of
// what it sees alone; padding changes no bit of it. At 80 registers three blocks of 256 threads run on a multiprocessor, whose shared
// memory (22 KB each for fp32 and D = 64, 38 KB for D = 128) is then no limit.
template <int D, typename T, typename A = Accumulator<T>>
__global__ void __launch_bounds__(kTileThreads<A>) attention_kernel(const AttentionCall<T> call, T* y, double* log_sum) {
  auto& shared = *dynamic_shared<ForwardShared<A, D>>();
  const int64_t heads = call.sizes.B * call.sizes.H, index = blockIdx.x % heads;
  const AttentionHead<T> head(call, index);
  const int first = (static_cast<int>(gridDim.x / heads) - 1 - static_cast<int>(blockIdx.x / heads)) * kTile<A>;
  const int row = static_cast<int>(threadIdx.x) / kRowThreads, lane = static_cast<int>(threadIdx.x) % kRowThreads;
  const int i = first + row, sees = head.sees(i), keys = head.sees(min(first + kTile<A>, head.length) - 1);
  load_queries(shared.q, head, head.q, head.stride, first);
  OnlineSoftmax<A> softmax;
  OwnColumns<A, D> o;
  MaskNumbers<A> mask(call.mask);
  for (int begin = 0; begin < keys; begin += kTile<A>) {
    __syncthreads();
    load_keys(shared.kv, head, head.k, begin, keys);
    __syncthreads();
    A p[kKeys<A>];
    key_products(shared.q.v[row], shared.kv, lane, p);
    for (int n = 0; n < kKeys<A>; ++n) {
      p[n] = begin + lane * kKeys<A> + n < sees ? p[n] * call.scale : -kInfinity<A>;
    }
    o.scale(softmax.add(p));
    for (int n = 0; n < kKeys<A>; ++n) {
      const int j = lane * kKeys<A> + n;
      shared.p.v[row][j] = begin + j < sees ? p[n] * mask(head.mask_number(i, begin + j)) : A(0);
    }
    __syncthreads();
    load_keys(shared.kv, head, head.v, begin, keys);
    __syncthreads();
    for (int j = 0; j < min(kTile<A>, sees - begin); ++j) {
      o.add(shared.p.v[row][j], shared.kv.v[slot<A>(j)], lane);
    }
  }
  if (i < head.length) {
    const int64_t C = call.sizes.H * call.sizes.D;
    o.scale(softmax.sum == A(0) ? A(0) : A(1) / softmax.sum);
    o.store(y + (index / call.sizes.H * call.sizes.T + i) * C + index % call.sizes.H * call.sizes.D, head.columns, lane);
    if (lane == 0) {
      log_sum[head.first_row + i] = static_cast<double>(softmax.shift()) + static_cast<double>(log(softmax.sum));
    }
  }
}

}  // namespace

void attention_keys(int64_t B, int64_t T, const uint8_t* padded, int32_t* seen, int32_t* kept) {
  launch(attention_keys_kernel, dim3(static_cast<unsigned>(B)), dim3(32), 0, T, padded, seen, kept);
}

template <typename T>
void attention_simt(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
                    double* log_sum) {
  using A = Accumulator<T>;
  const int64_t tiles = (sizes.T + kTile<A> - 1) / kTile<A>;
  const AttentionCall<T> call(sizes, keys, drop, qkv);
  with_columns(sizes.D, [&]<int D>() {
    launch(attention_kernel<D, T>, dim3(static_cast<unsigned>(tiles * sizes.B * sizes.H)), dim3(kTileThreads<A>),
           sizeof(ForwardShared<A, D>), call, y, log_sum);
  });
}

template <typename T>
void attention(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
               double* log_sum, T*) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (fits_tensor_cores(sizes, qkv, y, y)) {
      return attention_tensor_core(sizes, keys, drop, qkv, y, log_sum);
    }
  }
  attention_simt(sizes, keys, drop, qkv, y, log_sum);
}

#define RINGLET_INSTANTIATE(T)                                                                                           \
  template void attention(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const T*, T*, double*, T*); \
  template void attention_simt(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const T*, T*, double*);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)
#undef RINGLET_INSTANTIATE

}  // namespace ringlet::kernels::cuda
