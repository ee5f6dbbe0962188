// dv = pᵀ·dy    dp = dy·vᵀ    ds = p·(dp − Σ_j dp·p)    dq = ds·k/√D    dk = dsᵀ·q/√D          with p = exp(s − log_sum) anew
//
// Two kernels, so that nobody adds to what another one writes: one makes dq by tiles of rows, the other dk and dv by tiles of keys.
// Both compute p and dp from their products, as CPU and forward pass have them in the same chains of fused multiply-adds.
#include "tensor/kernels/cuda/attention.h"
#include "tensor/kernels/cuda/attention_tensor_core.h"
#include "tensor/kernels/cuda/attention_tile.cuh"
#include "tensor/kernels/cuda/math.cuh"

namespace ringlet::kernels::cuda {
namespace {

template <typename A, int D>
struct GradientShared {
  TileRows<A, D> q, dy, k, v;
  TileWeights<A> ds, p;
};

// What a thread computes of the weights of its row: of kKeys neighbouring keys.
template <typename A>
struct Gradients {
  A p[kKeys<A>], dropped[kKeys<A>], dp[kKeys<A>];  // p;  p times the mask;  dp times the mask
};

// Row i of the head, which is row `row` of the tile, and the keys of a tile from number `begin` on. log Σ exp comes in two pieces, so that
// an fp64 number survives in fp32.
template <int D, typename T, typename A = Accumulator<T>>
__device__ Gradients<A> gradients_of(const AttentionGradientCall<T>& call, const AttentionHead<T>& head,
                                     const GradientShared<A, D>& shared, int i, int row, int begin, int lane) {
  Gradients<A> g;
  key_products(shared.q.v[row], shared.k, lane, g.p);
  key_products(shared.dy.v[row], shared.v, lane, g.dp);
  const int sees = head.sees(i);
  const double log_sum = i < head.length ? call.log_sum[head.first_row + i] : 0.0;
  const A high = static_cast<A>(log_sum), low = static_cast<A>(log_sum - static_cast<double>(high));
  MaskNumbers<A> mask(call.mask);
  for (int n = 0; n < kKeys<A>; ++n) {
    const int j = begin + lane * kKeys<A> + n;
    const A kept = j < sees ? mask(head.mask_number(i, j)) : A(0);
    g.p[n] = j < sees ? exp((g.p[n] * call.scale - high) - low) : A(0);
    g.dropped[n] = j < sees ? g.p[n] * kept : A(0);
    g.dp[n] = j < sees ? g.dp[n] * kept : A(0);
  }
  return g;
}

// dq, and Σ_j dp·p on the way, which needs all keys before the first ds: they go by twice. (It is Σ_d dy·y as well, at the price of
// keeping y.)
template <int D, typename T, typename A = Accumulator<T>>
__global__ void __launch_bounds__(kTileThreads<A>) query_gradient_kernel(const AttentionGradientCall<T> call) {
  auto& shared = *dynamic_shared<GradientShared<A, D>>();
  const int64_t heads = call.sizes.B * call.sizes.H, index = blockIdx.x % heads;
  const AttentionHead<T> head(call, index);
  const int first = (static_cast<int>(gridDim.x / heads) - 1 - static_cast<int>(blockIdx.x / heads)) * kTile<A>;
  const int row = static_cast<int>(threadIdx.x) / kRowThreads, lane = static_cast<int>(threadIdx.x) % kRowThreads;
  const int i = first + row, sees = head.sees(i), keys = head.sees(min(first + kTile<A>, head.length) - 1);
  load_queries(shared.q, head, head.q, head.stride, first);
  load_queries(shared.dy, head, call.dy + call.offset(index, call.channels()), call.channels(), first);
  const auto load_both = [&](int begin) {
    __syncthreads();
    load_keys(shared.k, head, head.k, begin, keys);
    load_keys(shared.v, head, head.v, begin, keys);
    __syncthreads();
  };
  A dot = 0;
  for (int begin = 0; begin < keys; begin += kTile<A>) {
    load_both(begin);
    const Gradients<A> g = gradients_of<D>(call, head, shared, i, row, begin, lane);
    for (int n = 0; n < kKeys<A>; ++n) {
      dot = fused(g.dp[n], g.p[n], dot);
    }
  }
  dot = join_row(dot, [](A a, A b) { return a + b; });
  OwnColumns<A, D> dq;
  for (int begin = 0; begin < keys; begin += kTile<A>) {
    load_both(begin);
    const Gradients<A> g = gradients_of<D>(call, head, shared, i, row, begin, lane);
    for (int n = 0; n < kKeys<A>; ++n) {
      shared.ds.v[row][lane * kKeys<A> + n] = g.p[n] * (g.dp[n] - dot) * call.scale;
    }
    __syncwarp();  // the threads of a row are of one warp
    for (int j = 0; j < min(kTile<A>, sees - begin); ++j) {
      dq.add(shared.ds.v[row][j], shared.k.v[slot<A>(j)], lane);
    }
  }
  if (i < head.length) {
    dq.store(call.dqkv + call.offset(index, head.stride) + i * head.stride, head.columns, lane);
    if (lane == 0) {
      call.dot[head.first_row + i] = dot;
    }
  }
}

// dk and dv. Rows before the first key of the tile see none of its keys; the others go by tile after tile.
template <int D, typename T, typename A = Accumulator<T>>
__global__ void __launch_bounds__(kTileThreads<A>) key_gradient_kernel(const AttentionGradientCall<T> call) {
  auto& shared = *dynamic_shared<GradientShared<A, D>>();
  const int64_t heads = call.sizes.B * call.sizes.H, index = blockIdx.x % heads;
  const AttentionHead<T> head(call, index);
  const int first = static_cast<int>(blockIdx.x / heads) * kTile<A>, keys = head.sees(head.length - 1);
  if (first >= keys) {
    return;
  }
  const int row = static_cast<int>(threadIdx.x) / kRowThreads, lane = static_cast<int>(threadIdx.x) % kRowThreads;
  const bool has_key = first + row < keys;
  const int position = has_key ? head.position(first + row) : head.length;
  load_keys(shared.k, head, head.k, first, keys);
  load_keys(shared.v, head, head.v, first, keys);
  OwnColumns<A, D> dk, dv;
  for (int begin = head.position(first) / kTile<A> * kTile<A>; begin < head.length; begin += kTile<A>) {
    __syncthreads();
    load_queries(shared.q, head, head.q, head.stride, begin);
    load_queries(shared.dy, head, call.dy + call.offset(index, call.channels()), call.channels(), begin);
    __syncthreads();
    const int i = begin + row;
    const Gradients<A> g = gradients_of<D>(call, head, shared, i, row, first, lane);
    const A dot = i < head.length ? call.dot[head.first_row + i] : A(0);
    for (int n = 0; n < kKeys<A>; ++n) {
      shared.ds.v[row][lane * kKeys<A> + n] = g.p[n] * (g.dp[n] - dot) * call.scale;
      shared.p.v[row][lane * kKeys<A> + n] = g.dropped[n];
    }
    __syncthreads();
    for (int r = max(0, position - begin); r < min(kTile<A>, head.length - begin);
         ++r) {  // those that see the key of this thread
      dk.add(shared.ds.v[r][row], shared.q.v[r], lane);
      dv.add(shared.p.v[r][row], shared.dy.v[r], lane);
    }
  }
  if (has_key) {
    T* to = call.dqkv + call.offset(index, head.stride) + position * head.stride;
    dk.store(to + call.channels(), head.columns, lane);
    dv.store(to + 2 * call.channels(), head.columns, lane);
  }
}

}  // namespace

// Two for each row: a number in fp32 is as long as two in bf16.
int64_t attention_scratch(const AttentionSizes& sizes, bool) { return 2 * sizes.B * sizes.H * sizes.T; }

template <typename T>
void attention_backward_simt(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                             const T* qkv, const double* log_sum, T* dqkv, T* scratch) {
  using A = Accumulator<T>;
  const dim3 grid(static_cast<unsigned>((sizes.T + kTile<A> - 1) / kTile<A> * sizes.B * sizes.H));
  const AttentionGradientCall<T> call({sizes, keys, drop, qkv}, dy, log_sum, reinterpret_cast<A*>(scratch), dqkv);
  with_columns(sizes.D, [&]<int D>() {
    launch(query_gradient_kernel<D, T>, grid, dim3(kTileThreads<A>), sizeof(GradientShared<A, D>), call);
    launch(key_gradient_kernel<D, T>, grid, dim3(kTileThreads<A>), sizeof(GradientShared<A, D>), call);
  });
}

template <typename T>
void attention_backward(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                        const T* qkv, const double* log_sum, T* dqkv, T* scratch) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (fits_tensor_cores(sizes, qkv, dy, dqkv)) {
      return attention_backward_tensor_core(sizes, keys, drop, dy, qkv, log_sum, dqkv, reinterpret_cast<float*>(scratch));
    }
  }
  attention_backward_simt(sizes, keys, drop, dy, qkv, log_sum, dqkv, scratch);
}

#define RINGLET_INSTANTIATE(T)                                                                                                 \
  template void attention_backward(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const T*, const T*,      \
                                   const double*, T*, T*);                                                                     \
  template void attention_backward_simt(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const T*, const T*, \
                                        const double*, T*, T*);
RINGLET_INSTANTIATE(float)
RINGLET_INSTANTIATE(double)
RINGLET_INSTANTIATE(bf16)
#undef RINGLET_INSTANTIATE

}  // namespace ringlet::kernels::cuda
