#include "tensor/kernels/cpu/attention.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/cpu/attention_rows.h"
#include "tensor/kernels/cpu/dropout.h"
#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/reduce.h"
#include "tensor/kernels/cpu/row_product.h"

namespace ringlet::kernels {
namespace {

constexpr int64_t kRows = 16;  // query rows in a block: at most 15 keys of the future are computed in vain, and multiplied by 0

int64_t work_per_head(const AttentionSizes& s) { return 2 * s.T * s.T * (s.D + 8); }

template <typename T>
struct Scratch {
  T *p, *dp, *dropped;  // [kRows, width]   width: T in whole lanes
  T* mask;              // [width]
  T *kt, *vt;           // [D, width]
  T *k, *v, *dk, *dv;   // [T, D]           with padding only
};
template <typename T>
Scratch<T> cut(T* slot, const AttentionSizes& s) {
  const int64_t width = whole_lanes(s.T), block = kRows * width, turned = s.D * width, head = s.T * s.D;
  T *mask = slot + 3 * block, *kt = mask + width, *k = kt + 2 * turned;
  return {slot, slot + block, slot + 2 * block, mask, kt, kt + turned, k, k + head, k + 2 * head, k + 3 * head};
}

// One head: where its rows lie, and how many keys each sees.
template <typename T>
struct Head {
  int64_t index;          // b·H + h
  MatrixView<T> q, k, v;  // [T, D], [kept, D], [kept, D]
  const int32_t *seen, *kept;
  int64_t count;  // of keys kept
};

// Rows of padding are left out of k and v by copying the others together.
template <typename T>
void gather(MatrixView<T>& m, const int32_t* kept, int64_t count, int64_t D, T* to) {
  for (int64_t j = 0; j < count; ++j) {
    std::copy_n(m.data + kept[j] * m.row, D, to + j * D);
  }
  m = {to, D, 1};
}

// to[d, j] = m[j, d], zeros behind the last key: scores are then sums of rows, a register of keys at a time.
template <typename T>
void turn(const MatrixView<T>& m, int64_t count, int64_t D, int64_t width, T* to) {
  for (int64_t first = 0; first < width; first += kLanes) {
    const int64_t last = std::min(count, first + kLanes);
    for (int64_t d = 0; d < D; ++d) {
      T* row = to + d * width;
      for (int64_t j = first; j < last; ++j) {
        row[j] = m.data[j * m.row + d];
      }
      std::fill(row + std::max(first, last), row + first + kLanes, T(0));
    }
  }
}

template <typename T>
Head<T> head_of(const AttentionSizes& s, const AttentionKeys& keys, const T* qkv, int64_t index, const Scratch<T>& scratch) {
  const int64_t C = s.H * s.D, row = 3 * C, b = index / s.H;
  const T* q = qkv + b * s.T * row + index % s.H * s.D;
  const int32_t* seen = keys.seen + b * s.T;
  Head<T> head{index, {q, row, 1}, {q + C, row, 1}, {q + 2 * C, row, 1}, seen, nullptr, seen[s.T - 1]};
  if (keys.kept != nullptr) {
    head.kept = keys.kept + b * s.T;
    gather(head.k, head.kept, head.count, s.D, scratch.k);
    gather(head.v, head.kept, head.count, s.D, scratch.v);
  }
  turn(head.k, head.count, s.D, whole_lanes(s.T), scratch.kt);
  return head;
}

// mask[j] = 1 / (1 − p) for the keys kept by dropout in row i, else 0.
template <typename T>
void dropout_row(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, int64_t i, int64_t width, T* mask) {
  constexpr int64_t kChunk = 256;
  const float threshold = dropout_threshold(drop.p);
  const T scale = static_cast<T>(1.0 / (1.0 - drop.p));
  float number[kChunk];
  for (int64_t begin = 0; begin <= i; begin += kChunk) {
    const int64_t length = std::min(kChunk, i + 1 - begin);
    drop.stream->uniforms(static_cast<uint64_t>((head.index * s.T + i) * s.T + begin), {number, static_cast<size_t>(length)});
    for (int64_t j = 0; j < length; ++j) {
      mask[begin + j] = number[j] >= threshold ? scale : T(0);
    }
  }
  const int64_t seen = head.seen[i];
  for (int64_t j = 0; head.kept != nullptr && j < seen; ++j) {
    mask[j] = mask[head.kept[j]];
  }
  std::fill(mask + seen, mask + width, T(0));
}

template <typename T>
void forward_block(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, int64_t first, int64_t rows, T* y,
                   double* log_sum, const Scratch<T>& scratch) {
  const int64_t n = head.seen[first + rows - 1], width = whole_lanes(n), C = s.H * s.D;
  const T scale = T(1) / std::sqrt(static_cast<T>(s.D));
  row_product<From::Zero>(rows, width, s.D, head.q.at(first, 0), scratch.kt, whole_lanes(s.T), scratch.p, width);
  for (int64_t r = 0; r < rows; ++r) {
    T* p = scratch.p + r * width;
    log_sum[first + r] = softmax_row(p, head.seen[first + r], width, scale);
    if (drop.p > 0) {
      dropout_row(s, drop, head, first + r, width, scratch.mask);
      multiply_row(p, scratch.mask, p, width);
    }
  }
  row_product<From::Zero>(rows, s.D, n, MatrixView<T>{scratch.p, width, 1}, head.v.data, head.v.row, y, C);
}

// Where the gradients of one head go: dq and, with all keys in place, dk and dv lie inside dqkv.
template <typename T>
struct HeadGradient {
  T *dq, *dk, *dv;
  int64_t row, key_row;
};

template <typename T>
void backward_block(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, int64_t first, int64_t rows,
                    MatrixView<T> dy, const double* log_sum, const HeadGradient<T>& to, const Scratch<T>& scratch) {
  const int64_t n = head.seen[first + rows - 1], width = whole_lanes(n), all = whole_lanes(s.T);
  const T scale = T(1) / std::sqrt(static_cast<T>(s.D));
  const MatrixView<T> q = head.q.at(first, 0);
  row_product<From::Zero>(rows, width, s.D, q, scratch.kt, all, scratch.p, width);
  row_product<From::Zero>(rows, width, s.D, dy, scratch.vt, all, scratch.dp, width);
  T* dropped = drop.p > 0 ? scratch.dropped : scratch.p;
  for (int64_t r = 0; r < rows; ++r) {
    T *p = scratch.p + r * width, *dp = scratch.dp + r * width;
    const int64_t seen = head.seen[first + r];
    probabilities_row(p, seen, width, scale, log_sum[first + r]);
    if (drop.p > 0) {
      dropout_row(s, drop, head, first + r, width, scratch.mask);
      multiply_row(p, scratch.mask, dropped + r * width, width);
      multiply_row(dp, scratch.mask, dp, width);
    }
    scores_gradient_row(p, dp, seen, width, scale);
  }
  const MatrixView<T> ds = {scratch.dp, width, 1}, ds_turned = {scratch.dp, 1, width}, p_turned = {dropped, 1, width};
  row_product<From::C>(n, s.D, rows, p_turned, dy.data, dy.row, to.dv, to.key_row);                    // dv = Pᵀ·dy
  row_product<From::Zero>(rows, s.D, n, ds, head.k.data, head.k.row, to.dq + first * to.row, to.row);  // dq = ds·k
  row_product<From::C>(n, s.D, rows, ds_turned, q.data, q.row, to.dk, to.key_row);                     // dk = dsᵀ·q
}

template <typename T>
void backward_head(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, int64_t block, const T* dy,
                   const double* log_sum, T* dqkv, const Scratch<T>& scratch) {
  const int64_t C = s.H * s.D, row = 3 * C;
  T* dq = dqkv + head.index / s.H * s.T * row + head.index % s.H * s.D;
  HeadGradient<T> to{dq, dq + C, dq + 2 * C, row, row};
  if (head.kept != nullptr) {
    to.dk = scratch.dk, to.dv = scratch.dv, to.key_row = s.D;
    std::fill_n(scratch.dk, head.count * s.D, T(0));
    std::fill_n(scratch.dv, head.count * s.D, T(0));
  }
  turn(head.v, head.count, s.D, whole_lanes(s.T), scratch.vt);
  const MatrixView<T> gradient = {dy + head.index / s.H * s.T * C + head.index % s.H * s.D, C, 1};
  for (int64_t first = 0; first < s.T; first += block) {
    backward_block(s, drop, head, first, std::min(block, s.T - first), gradient.at(first, 0), log_sum, to, scratch);
  }
  for (int64_t j = 0; head.kept != nullptr && j < head.count; ++j) {
    std::copy_n(scratch.dk + j * s.D, s.D, dq + C + head.kept[j] * row);
    std::copy_n(scratch.dv + j * s.D, s.D, dq + 2 * C + head.kept[j] * row);
  }
}

// Zeros stand for what a row does not see, and 0·NaN is NaN: where something is not finite, every row is a block of its own,
// as long as what it sees. The bits are the same.
template <typename T>
int64_t rows_in_block(const T* x, int64_t n) {
  return all_finite(x, n) ? kRows : 1;
}

}  // namespace

int64_t attention_scratch(const AttentionSizes& s, bool padding) {
  return (3 * kRows + 1 + 2 * s.D) * whole_lanes(s.T) + (padding ? 4 * s.T * s.D : 0);
}

int64_t attention_slots(const AttentionSizes& s) { return runs_in_parallel(s.B * s.H, work_per_head(s)) ? s.B * s.H : 1; }

template <typename T>
void attention(const AttentionSizes& s, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
               double* log_sum, T* scratch) {
  const int64_t C = s.H * s.D, block = rows_in_block(qkv, s.B * s.T * 3 * C);
  const int64_t slot = attention_slots(s) > 1 ? attention_scratch(s, keys.kept != nullptr) : 0;
  parallel_for(s.B * s.H, work_per_head(s), [&](int64_t index) {
    const Scratch<T> own = cut(scratch + index * slot, s);
    const Head<T> head = head_of(s, keys, qkv, index, own);
    T* out = y + index / s.H * s.T * C + index % s.H * s.D;
    for (int64_t first = 0; first < s.T; first += block) {
      forward_block(s, drop, head, first, std::min(block, s.T - first), out + first * C, log_sum + index * s.T, own);
    }
  });
}

template <typename T>
void attention_backward(const AttentionSizes& s, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                        const T* qkv, const double* log_sum, T* dqkv, T* scratch) {
  const int64_t elements = s.B * s.T * s.H * s.D;
  const int64_t block = std::min(rows_in_block(qkv, 3 * elements), rows_in_block(dy, elements));
  const int64_t slot = attention_slots(s) > 1 ? attention_scratch(s, keys.kept != nullptr) : 0;
  parallel_for(s.B * s.H, work_per_head(s), [&](int64_t index) {
    const Scratch<T> own = cut(scratch + index * slot, s);
    const Head<T> head = head_of(s, keys, qkv, index, own);
    backward_head(s, drop, head, block, dy, log_sum + index * s.T, dqkv, own);
  });
}

template void attention(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const float*, float*, double*,
                        float*);
template void attention(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const double*, double*, double*,
                        double*);
template void attention_backward(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const float*, const float*,
                                 const double*, float*, float*);
template void attention_backward(const AttentionSizes&, const AttentionKeys&, const AttentionDrop&, const double*,
                                 const double*, const double*, double*, double*);

}  // namespace ringlet::kernels
