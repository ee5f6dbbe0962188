#include "tensor/kernels/cuda/attention_tensor_core.h"

#include <cuda_bf16.h>
#include <mma.h>

#include "tensor/kernels/cuda/attention_fragment.cuh"
#include "tensor/kernels/cuda/math.cuh"

namespace ringlet::kernels::cuda {
namespace {

constexpr int kScoreStride = kFragmentRows + 8, kOwnScores = kFragmentRows / 2, kQuads = kOwnScores / 4;

template <int D>
struct ForwardShared {
  HalfRows<D> q, k, v;
  alignas(128) float scores[kWarps][kSide][kScoreStride];
  HalfWeights p;
  float factor[kWarps][kSide];  // of each row
};

// Two threads have a row: each 32 of its 64 scores, quads in turn, so that four come with one load and one block of Philox.
struct RowOfTwo {
  int row, half;  // of the warp's 16
  __device__ int key(int quad) const { return 8 * quad + 4 * half; }
};

// The softmax of a row whose scores come tile by tile, as in attention.cu: what one thread of the two needs.
struct RowSoftmax {
  float largest = -kInfinity<float>, sum = 0;

  __device__ float shift() const { return largest == -kInfinity<float> ? 0.0F : largest; }
  /// Makes scores exp(s − m); what was summed before has to be multiplied by the result.
  __device__ float add(float (&s)[kOwnScores]) {
    const float before = largest;
    float tile_largest = s[0], tile_sum = 0;
#pragma unroll
    for (const float score : s) {
      tile_largest = larger(tile_largest, score);
    }
    largest = larger(largest, larger(tile_largest, __shfl_xor_sync(0xffffffffU, tile_largest, 1)));
#pragma unroll
    for (float& score : s) {
      score = exp(score - shift());
      tile_sum += score;
    }
    const float correction = exp(before - shift());
    sum = fused(sum, correction, tile_sum + __shfl_xor_sync(0xffffffffU, tile_sum, 1));
    return correction;
  }
};

// Scores of the warp, from shared memory, to weights in p; the factor of what its rows had summed before goes to `factor`.
template <int D>
__device__ void weigh(ForwardShared<D>& shared, const AttentionCall<bf16>& call, const AttentionHead<bf16>& head, int i,
                      int begin, const RowOfTwo& own, RowSoftmax& softmax) {
  const int warp = static_cast<int>(threadIdx.x) / 32, sees = head.sees(i);
  float s[kOwnScores];
#pragma unroll
  for (int quad = 0; quad < kQuads; ++quad) {
    const auto four = load_pack<4>(&shared.scores[warp][own.row][own.key(quad)], true);
    for (int w = 0; w < 4; ++w) {
      s[4 * quad + w] = begin + own.key(quad) + w < sees ? four.v[w] * call.scale : -kInfinity<float>;
    }
  }
  const float correction = softmax.add(s);
  if (own.half == 0) {
    shared.factor[warp][own.row] = correction;
  }
  MaskNumbers<float> mask(call.mask);
#pragma unroll
  for (int quad = 0; quad < kQuads; ++quad) {
    Pack<__nv_bfloat16, 4> four;
    for (int w = 0; w < 4; ++w) {
      const int j = begin + own.key(quad) + w;
      four.v[w] = __float2bfloat16_rn(j < sees ? s[4 * quad + w] * mask(head.mask_number(i, j)) : 0.0F);
    }
    store_pack(&shared.p.v[warp][own.row][own.key(quad)], four, true);
  }
}

template <int D>
__device__ void multiply_by_row(Sums (&sums)[D / kSide], const Places& at, const float* factor) {
#pragma unroll
  for (int e = 0; e < Sums::num_elements; ++e) {
#pragma unroll
    for (int n = 0; n < D / kSide; ++n) {
      sums[n].x[e] *= factor[at.row(e)];
    }
  }
}

// s = q·kᵀ/√D, masked    p = softmax(s)    y = p·v          as attention_kernel in attention.cu
//
// A block makes 64 rows of one head, each of its four warps 16 of them, the last tiles of all heads first. A warp stops at the last
// key that it sees, in steps of 16. D = 64: 168 registers and 55 KB of shared memory, three blocks on a multiprocessor; D = 128: two.
template <int D>
__global__ void __launch_bounds__(kFragmentThreads) forward_kernel(const AttentionCall<bf16> call, bf16* y, double* log_sum) {
  auto& shared = *dynamic_shared<ForwardShared<D>>();
  const int64_t heads = call.sizes.B * call.sizes.H, index = blockIdx.x % heads;
  const AttentionHead<bf16> head(call, index);
  const int first = (static_cast<int>(gridDim.x / heads) - 1 - static_cast<int>(blockIdx.x / heads)) * kFragmentRows;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32,
            begin_row = first + warp * kSide;
  const RowOfTwo own{lane / 2, lane % 2};
  const int i = begin_row + own.row, last = min(first + kFragmentRows, head.length) - 1, keys = head.sees(last);
  const int warp_keys = begin_row < head.length ? head.sees(min(begin_row + kSide, head.length) - 1) : 0;
  const Places at(&shared.scores[0][0][0]);
  load_half_rows(shared.q, head.length - first, [&](int r) { return head.q + (first + r) * head.stride; });
  RowSoftmax softmax;
  Sums o[D / kSide];
#pragma unroll
  for (Sums& sums : o) {
    wmma::fill_fragment(sums, 0.0F);
  }
  for (int begin = 0; begin < keys; begin += kFragmentRows) {
    __syncthreads();
    load_half_rows(shared.k, keys - begin, [&](int r) { return head.k + head.position(begin + r) * head.stride; });
    const bool finite =
        load_half_rows(shared.v, keys - begin, [&](int r) { return head.v + head.position(begin + r) * head.stride; });
    const bool all_finite = __syncthreads_and(finite ? 1 : 0) != 0;
    const int own_keys = min(kFragmentRows, warp_keys - begin);
    for (int j = 0; j < own_keys; j += kSide) {
      Sums s;
      multiply_rows(s, shared.q, warp * kSide, shared.k, j);
      wmma::store_matrix_sync(&shared.scores[warp][0][j], s, kScoreStride, wmma::mem_row_major);
    }
    __syncwarp();
    weigh(shared, call, head, i, begin, own, softmax);
    __syncwarp();
    multiply_by_row<D>(o, at, shared.factor[warp]);
    if (!all_finite) {
      take_out_infinite(o, at, shared.p, shared.v, [&](int r, int j) { return begin + j < head.sees(begin_row + r); });
    }
    add_weighted_rows(o, shared.p, shared.v, 0, own_keys);
  }
  __syncwarp();  // the last tile's factors have been read
  if (own.half == 0) {
    shared.factor[warp][own.row] = softmax.sum == 0.0F ? 0.0F : 1.0F / softmax.sum;
    if (i < head.length) {
      log_sum[head.first_row + i] = static_cast<double>(softmax.shift()) + static_cast<double>(log(softmax.sum));
    }
  }
  __syncwarp();
  multiply_by_row<D>(o, at, shared.factor[warp]);
  const int64_t C = call.sizes.H * call.sizes.D;
  bf16* to = y + (index / call.sizes.H * call.sizes.T + begin_row) * C + index % call.sizes.H * call.sizes.D;
  store_sums(
      o, at, shared.q, [&](int r) { return begin_row + r < head.length; }, [&](int r) { return to + r * C; });
}

}  // namespace

bool fits_tensor_cores(const AttentionSizes& sizes, const bf16* a, const bf16* b, const bf16* c) {
  constexpr int W = kPackWidth<bf16>;
  return (sizes.D == 32 || sizes.D == 64 || sizes.D == 128) && is_aligned<W>(a) && is_aligned<W>(b) && is_aligned<W>(c);
}

void attention_tensor_core(const AttentionSizes& sizes, const AttentionKeys& keys, const AttentionDrop& drop, const bf16* qkv,
                           bf16* y, double* log_sum) {
  const int64_t tiles = (sizes.T + kFragmentRows - 1) / kFragmentRows;
  const AttentionCall<bf16> call(sizes, keys, drop, qkv);
  with_columns(sizes.D, [&]<int D>() {
    launch(forward_kernel<D>, dim3(static_cast<unsigned>(tiles * sizes.B * sizes.H)), dim3(kFragmentThreads),
           sizeof(ForwardShared<D>), call, y, log_sum);
  });
}

}  // namespace ringlet::kernels::cuda
