// The gradient of attention as attention_backward.cu has it, 64 rows by 64 keys at a time. Scores and their gradients need no sum across
// a row here, because log Σ exp and Σ_j dp·p are there: a thread weighs its elements where the tensor cores leave them.
#include <cuda_bf16.h>
#include <mma.h>

#include "tensor/kernels/cuda/attention_fragment.cuh"
#include "tensor/kernels/cuda/attention_tensor_core.h"
#include "tensor/kernels/cuda/math.cuh"

namespace ringlet::kernels::cuda {
namespace {

using GradientCall = AttentionGradientCall<bf16>;

// One score, and what comes of it.
struct Weights {
  float p, dropped, dp;  // p;  p times the mask;  dp times the mask
};
__device__ Weights weights_of(float score, float dp, float scale, float log_sum, float kept) {
  const float p = exp(fused(score, scale, -log_sum));
  return {p, p * kept, dp * kept};
}

template <int D>
struct QueryShared {
  HalfRows<D> q, dy, k, v;
  HalfWeights ds;
  alignas(128) float sums[kWarps][kSide * kSide];
  float log_sum[kFragmentRows], dot[kFragmentRows];
  int sees[kFragmentRows];
};

// Σ of the 16 columns of the warp's sums, for each of its rows, to dot[row].
__device__ void sum_columns(float (&space)[kSide * kSide], const Sums& sums, float* dot) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  wmma::store_matrix_sync(space, sums, kSide, wmma::mem_row_major);
  __syncwarp();
  if (lane < kSide) {
    float sum = 0;
    for (int j = 0; j < kSide; ++j) {
      sum += space[lane * kSide + j];
    }
    dot[lane] = sum;
  }
  __syncwarp();
}

// The keys of a tile from number `begin` on, for the warp's 16 rows: body(e, j, weights) for each element e of this thread in the
// columns j … j + 15 of the tile.
template <int D, typename Body>
__device__ void for_each_weight(const GradientCall& call, const AttentionHead<bf16>& head, const QueryShared<D>& shared,
                                const Places& at, int first, int begin, int keys, Body&& body) {
  const int warp_row = static_cast<int>(threadIdx.x) / 32 * kSide;
  MaskNumbers<float> mask(call.mask);
  for (int j = 0; j < keys; j += kSide) {
    Sums s, dp;
    multiply_rows(s, shared.q, warp_row, shared.k, j);
    multiply_rows(dp, shared.dy, warp_row, shared.v, j);
#pragma unroll
    for (int e = 0; e < Sums::num_elements; ++e) {
      const int row = warp_row + at.row(e), key = begin + j + at.column(e);
      Weights w{0, 0, 0};
      if (key < shared.sees[row]) {
        w = weights_of(s.x[e], dp.x[e], call.scale, shared.log_sum[row], mask(head.mask_number(first + row, key)));
      }
      body(e, j, w);
    }
  }
}

// dq and Σ_j dp·p, for which the keys go by twice. D = 64: 168 registers and 51 KB of shared memory, three blocks
// on a multiprocessor.
template <int D>
__global__ void __launch_bounds__(kFragmentThreads) query_gradient_kernel(const GradientCall call) {
  auto& shared = *dynamic_shared<QueryShared<D>>();
  const int64_t heads = call.sizes.B * call.sizes.H, index = blockIdx.x % heads;
  const AttentionHead<bf16> head(call, index);
  const int first = (static_cast<int>(gridDim.x / heads) - 1 - static_cast<int>(blockIdx.x / heads)) * kFragmentRows;
  const int warp = static_cast<int>(threadIdx.x) / 32, warp_row = warp * kSide;
  const int keys = head.sees(min(first + kFragmentRows, head.length) - 1);
  const int warp_keys = first + warp_row < head.length ? head.sees(min(first + warp_row + kSide, head.length) - 1) : 0;
  const Places at(shared.sums[0]);
  const bf16* dy = call.dy + call.offset(index, call.channels());
  load_half_rows(shared.q, head.length - first, [&](int r) { return head.q + (first + r) * head.stride; });
  load_half_rows(shared.dy, head.length - first, [&](int r) { return dy + (first + r) * call.channels(); });
  for (int r = static_cast<int>(threadIdx.x); r < kFragmentRows; r += kFragmentThreads) {
    shared.sees[r] = head.sees(first + r);
    shared.log_sum[r] = first + r < head.length ? static_cast<float>(call.log_sum[head.first_row + first + r]) : 0.0F;
  }
  const auto load_both = [&](int begin) {
    __syncthreads();
    const auto row = [&](const bf16* from) {
      return [&head, from, begin](int r) { return from + head.position(begin + r) * head.stride; };
    };
    const bool finite = load_half_rows(shared.k, keys - begin, row(head.k));
    load_half_rows(shared.v, keys - begin, row(head.v));
    return __syncthreads_and(finite ? 1 : 0) != 0;
  };
  Sums dots;
  wmma::fill_fragment(dots, 0.0F);
  for (int begin = 0; begin < keys; begin += kFragmentRows) {
    load_both(begin);
    for_each_weight(call, head, shared, at, first, begin, min(kFragmentRows, warp_keys - begin),
                    [&](int e, int, const Weights& w) { dots.x[e] = fused(w.dp, w.p, dots.x[e]); });
  }
  sum_columns(shared.sums[warp], dots, &shared.dot[warp_row]);
  Sums dq[D / kSide];
#pragma unroll
  for (Sums& sums : dq) {
    wmma::fill_fragment(sums, 0.0F);
  }
  for (int begin = 0; begin < keys; begin += kFragmentRows) {
    const bool finite = load_both(begin);
    const int own_keys = min(kFragmentRows, warp_keys - begin);
    for_each_weight(call, head, shared, at, first, begin, own_keys, [&](int e, int j, const Weights& w) {
      const float ds = w.p * (w.dp - shared.dot[warp_row + at.row(e)]) * call.scale;
      shared.ds.v[warp][at.row(e)][j + at.column(e)] = __float2bfloat16_rn(ds);
    });
    __syncwarp();
    if (!finite) {
      take_out_infinite(dq, at, shared.ds, shared.k, [&](int r, int j) { return begin + j < shared.sees[warp_row + r]; });
    }
    add_weighted_rows(dq, shared.ds, shared.k, 0, own_keys);
  }
  const auto exists = [&](int r) { return first + warp_row + r < head.length; };
  bf16* to = call.dqkv + call.offset(index, head.stride) + (first + warp_row) * head.stride;
  store_sums(dq, at, shared.q, exists, [&](int r) { return to + r * head.stride; });
  if (const int r = static_cast<int>(threadIdx.x) % 32; r < kSide && exists(r)) {
    call.dot[head.first_row + first + warp_row + r] = shared.dot[warp_row + r];
  }
}

template <int D>
struct KeyShared {
  HalfRows<D> k, v, q, dy;
  HalfWeights ds, p;
  alignas(128) float places[kSide * kSide];
  float log_sum[kFragmentRows], dot[kFragmentRows];  // of the rows that go by
  int position[kFragmentRows];                       // of the keys; behind the last row where there is none
};

// Rows begin … of q and dy, and what is known of them. Whether all is finite.
template <int D>
__device__ bool load_gradient_rows(KeyShared<D>& shared, const GradientCall& call, const AttentionHead<bf16>& head,
                                   int64_t index, int begin) {
  const bf16* dy = call.dy + call.offset(index, call.channels());
  __syncthreads();
  bool finite = load_half_rows(shared.q, head.length - begin, [&](int r) { return head.q + (begin + r) * head.stride; });
  finite = load_half_rows(shared.dy, head.length - begin, [&](int r) { return dy + (begin + r) * call.channels(); }) && finite;
  for (int r = static_cast<int>(threadIdx.x); r < kFragmentRows; r += kFragmentThreads) {
    const bool exists = begin + r < head.length;
    shared.log_sum[r] = exists ? static_cast<float>(call.log_sum[head.first_row + begin + r]) : 0.0F;
    shared.dot[r] = exists ? call.dot[head.first_row + begin + r] : 0.0F;
  }
  return __syncthreads_and(finite ? 1 : 0) != 0;
}

// pᵀ and dsᵀ of the warp's 16 keys and the rows begin + from … of the tile.
template <int D>
__device__ void weigh_rows(KeyShared<D>& shared, const GradientCall& call, const AttentionHead<bf16>& head, const Places& at,
                           int begin, int from) {
  const int warp = static_cast<int>(threadIdx.x) / 32, warp_key = warp * kSide;
  MaskNumbers<float> mask(call.mask);
  for (int r = from; r < kFragmentRows; r += kSide) {
    Sums s, dp;
    multiply_rows(s, shared.k, warp_key, shared.q, r);
    multiply_rows(dp, shared.v, warp_key, shared.dy, r);
#pragma unroll
    for (int e = 0; e < Sums::num_elements; ++e) {
      const int row = r + at.column(e), i = begin + row, position = shared.position[warp_key + at.row(e)];
      Weights w{0, 0, 0};
      float ds = 0;  // where the row does not see the key, even if its dot is NaN
      if (position <= i && i < head.length) {
        w = weights_of(s.x[e], dp.x[e], call.scale, shared.log_sum[row], mask(head.mask_number_at(i, position)));
        ds = w.p * (w.dp - shared.dot[row]) * call.scale;
      }
      shared.p.v[warp][at.row(e)][row] = __float2bfloat16_rn(w.dropped);
      shared.ds.v[warp][at.row(e)][row] = __float2bfloat16_rn(ds);
    }
  }
}

// dk and dv. Rows before the first key of the warp see none of its keys; the others go by in tiles. D = 64: 168 registers, 57 KB of shared
// memory, three blocks on a multiprocessor.
template <int D>
__global__ void __launch_bounds__(kFragmentThreads) key_gradient_kernel(const GradientCall call) {
  auto& shared = *dynamic_shared<KeyShared<D>>();
  const int64_t heads = call.sizes.B * call.sizes.H, index = blockIdx.x % heads;
  const AttentionHead<bf16> head(call, index);
  const int first = static_cast<int>(blockIdx.x / heads) * kFragmentRows, keys = head.sees(head.length - 1);
  if (first >= keys) {
    return;
  }
  const int warp_key = static_cast<int>(threadIdx.x) / 32 * kSide;
  const Places at(shared.places);
  const auto row = [&](const bf16* from) {
    return [&head, from, first](int r) { return from + head.position(first + r) * head.stride; };
  };
  load_half_rows(shared.k, keys - first, row(head.k));
  load_half_rows(shared.v, keys - first, row(head.v));
  for (int r = static_cast<int>(threadIdx.x); r < kFragmentRows; r += kFragmentThreads) {
    shared.position[r] = first + r < keys ? head.position(first + r) : head.length;
  }
  Sums dk[D / kSide], dv[D / kSide];
#pragma unroll
  for (int n = 0; n < D / kSide; ++n) {
    wmma::fill_fragment(dk[n], 0.0F);
    wmma::fill_fragment(dv[n], 0.0F);
  }
  for (int begin = head.position(first) / kFragmentRows * kFragmentRows; begin < head.length; begin += kFragmentRows) {
    const bool finite = load_gradient_rows(shared, call, head, index, begin);
    const int from = max(0, shared.position[warp_key] - begin) / kSide * kSide;
    weigh_rows(shared, call, head, at, begin, from);
    __syncwarp();
    if (!finite) {
      const auto sees = [&](int key, int r) { return shared.position[warp_key + key] <= begin + r && begin + r < head.length; };
      take_out_infinite(dv, at, shared.p, shared.dy, sees);
      take_out_infinite(dk, at, shared.ds, shared.q, sees);
    }
    add_weighted_rows(dv, shared.p, shared.dy, from, kFragmentRows);
    add_weighted_rows(dk, shared.ds, shared.q, from, kFragmentRows);
  }
  bf16* to = call.dqkv + call.offset(index, head.stride);
  const auto store = [&](const Sums(&sums)[D / kSide], HalfRows<D>& stage, int64_t part) {
    store_sums(
        sums, at, stage, [&](int r) { return first + warp_key + r < keys; },
        [&](int r) { return to + shared.position[warp_key + r] * head.stride + part * call.channels(); });
  };
  store(dk, shared.k, 1);
  store(dv, shared.v, 2);
}

}  // namespace

void attention_backward_tensor_core(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop,
                                    const bf16* dy, const bf16* qkv, const double* log_sum, bf16* dqkv, float* dot) {
  const dim3 grid(static_cast<unsigned>((sizes.T + kFragmentRows - 1) / kFragmentRows * sizes.B * sizes.H));
  const GradientCall call({sizes, keys, drop, qkv}, dy, log_sum, dot, dqkv);
  with_columns(sizes.D, [&]<int D>() {
    launch(query_gradient_kernel<D>, grid, dim3(kFragmentThreads), sizeof(QueryShared<D>), call);
    launch(key_gradient_kernel<D>, grid, dim3(kFragmentThreads), sizeof(KeyShared<D>), call);
  });
}

}  // namespace ringlet::kernels::cuda
