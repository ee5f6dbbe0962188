#include "tensor/kernels/cpu/attention.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/cpu/attention_tile.h"
#include "tensor/kernels/cpu/dropout.h"
#include "tensor/kernels/cpu/parallel.h"
#include "tensor/kernels/cpu/reduce.h"
#include "tensor/kernels/cpu/row_product.h"

namespace ringlet::kernels {
namespace {

constexpr int64_t kSlots = 32;  // how many heads may run at the same time

int64_t work_per_head(const AttentionSizes& s) { return 2 * s.T * s.T * (s.D + 8); }

template <typename T>
struct Scratch {
  T *p, *dp, *mask, *dropped;  // [T, kQueries]
  T* turned;                   // [D, kQueries]
  T *k, *v, *dk, *dv;          // [T, D]           with padding only
};
template <typename T>
Scratch<T> cut(T* slot, const AttentionSizes& s) {
  const int64_t tile = s.T * kQueries, head = s.T * s.D;
  T *turned = slot + 4 * tile, *k = turned + s.D * kQueries;
  return {slot, slot + tile, slot + 2 * tile, slot + 3 * tile, turned, k, k + head, k + 2 * head, k + 3 * head};
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
  return head;
}

// The queries of one block: rows first … first + rows − 1 of the head, at most kQueries.
template <typename T>
struct Block {
  int64_t first, rows;
  Queries<int32_t> seen;  // 0 where there is no row
  int64_t n;              // keys that the last row sees

  Block(const Head<T>& head, int64_t begin, int64_t count)
      : first(begin), rows(count), seen{}, n(head.seen[begin + count - 1]) {
    std::copy_n(head.seen + begin, count, seen.v);
  }
};

// tile[j, r] = k_j·x_r for the rows x of the block, 0 for r ≥ rows. x is turned first: x_r[d] at to[d, r].
template <typename T>
void scores(const Block<T>& block, int64_t D, MatrixView<T> k, MatrixView<T> x, T* turned, T* tile) {
  for (int64_t d = 0; d < D; ++d) {
    for (int64_t r = 0; r < kQueries; ++r) {
      turned[d * kQueries + r] = r < block.rows ? x.data[r * x.row + d] : T(0);
    }
  }
  row_product<From::Zero>(block.n, kQueries, D, k, turned, kQueries, tile, kQueries);
}

// mask[j, r] = 1 / (1 − p) for the keys kept by dropout in row r, else 0.
template <typename T>
void dropout_tile(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, const Block<T>& block, T* mask) {
  constexpr int64_t kChunk = 256;
  const float threshold = dropout_threshold(drop.p);
  const T scale = static_cast<T>(1.0 / (1.0 - drop.p));
  float number[kChunk];
  std::fill_n(mask, block.n * kQueries, T(0));
  const int64_t behind = (head.index * s.T + block.first + block.rows) * s.T;  // the first number of the next block
  int64_t begin = 0, end = 0;                                                  // the numbers at hand, of several short rows
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t j = 0; j < block.seen.v[r]; ++j) {
      const int64_t i = (head.index * s.T + block.first + r) * s.T + (head.kept == nullptr ? j : head.kept[j]);
      if (i >= end) {
        begin = i;
        end = std::min(behind, begin + kChunk);
        drop.stream->uniforms(static_cast<uint64_t>(begin), {number, static_cast<size_t>(end - begin)});
      }
      mask[j * kQueries + r] = number[i - begin] >= threshold ? scale : T(0);
    }
  }
}

template <typename T>
void multiply_into(T* __restrict y, const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] *= x[i];
  }
}

template <typename T>
T score_scale(const AttentionSizes& s) {
  return T(1) / std::sqrt(static_cast<T>(s.D));
}

template <typename T>
void forward_block(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, const Block<T>& block, T* y,
                   double* log_sum, const Scratch<T>& scratch) {
  T* p = scratch.p;
  scores(block, s.D, head.k, head.q.at(block.first, 0), scratch.turned, p);
  softmax_tile(p, block.seen, block.n, score_scale<T>(s), log_sum + block.first, block.rows);
  if (drop.p > 0) {
    dropout_tile(s, drop, head, block, scratch.mask);
    multiply_into(p, scratch.mask, block.n * kQueries);
  }
  const int64_t C = s.H * s.D;
  row_product<From::Zero>(block.rows, s.D, block.n, {p, 1, kQueries}, head.v.data, head.v.row, y + block.first * C, C);
}

// Where the gradients of one head go: dq and, with all keys in place, dk and dv lie inside dqkv.
template <typename T>
struct HeadGradient {
  T *dq, *dk, *dv;
  int64_t row, key_row;
};

template <typename T>
void backward_block(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, const Block<T>& block,
                    MatrixView<T> dy, const double* log_sum, const HeadGradient<T>& to, const Scratch<T>& scratch) {
  const int64_t n = block.n, rows = block.rows;
  const MatrixView<T> q = head.q.at(block.first, 0);
  T *p = scratch.p, *dp = scratch.dp, *dropped = drop.p > 0 ? scratch.dropped : p;
  scores(block, s.D, head.k, q, scratch.turned, p);
  scores(block, s.D, head.v, dy, scratch.turned, dp);
  probabilities_tile(p, block.seen, n, score_scale<T>(s), log_sum + block.first, rows);
  if (drop.p > 0) {
    dropout_tile(s, drop, head, block, scratch.mask);
    std::copy_n(p, n * kQueries, dropped);
    multiply_into(dropped, scratch.mask, n * kQueries);
    multiply_into(dp, scratch.mask, n * kQueries);
  }
  scores_gradient_tile(p, dp, block.seen, n, score_scale<T>(s));
  T* dq = to.dq + block.first * to.row;
  row_product<From::C>(n, s.D, rows, {dropped, kQueries, 1}, dy.data, dy.row, to.dv, to.key_row);  // dv = Pᵀ·dy
  row_product<From::Zero>(rows, s.D, n, {dp, 1, kQueries}, head.k.data, head.k.row, dq, to.row);   // dq = ds·k
  row_product<From::C>(n, s.D, rows, {dp, kQueries, 1}, q.data, q.row, to.dk, to.key_row);         // dk = dsᵀ·q
}

template <typename T>
void backward_head(const AttentionSizes& s, const AttentionDrop& drop, const Head<T>& head, int64_t length, const T* dy,
                   const double* log_sum, T* dqkv, const Scratch<T>& scratch) {
  const int64_t C = s.H * s.D, row = 3 * C;
  T* dq = dqkv + head.index / s.H * s.T * row + head.index % s.H * s.D;
  HeadGradient<T> to{dq, dq + C, dq + 2 * C, row, row};
  if (head.kept != nullptr) {
    to.dk = scratch.dk, to.dv = scratch.dv, to.key_row = s.D;
    std::fill_n(scratch.dk, head.count * s.D, T(0));
    std::fill_n(scratch.dv, head.count * s.D, T(0));
  }
  const MatrixView<T> gradient = {dy + head.index / s.H * s.T * C + head.index % s.H * s.D, C, 1};
  for (int64_t first = 0; first < s.T; first += length) {
    const Block<T> block(head, first, std::min(length, s.T - first));
    backward_block(s, drop, head, block, gradient.at(first, 0), log_sum, to, scratch);
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
  int32_t finite = 0;
  all_finite(x, n, &finite);
  return finite != 0 ? kQueries : 1;
}

// Heads that run at the same time have a slot of scratch each; there is one where they do not.
int64_t slots_of(const AttentionSizes& s) {
  const int64_t heads = s.B * s.H;
  return runs_in_parallel(heads, work_per_head(s)) ? std::min(heads, kSlots) : 1;
}

int64_t slot_size(const AttentionSizes& s, bool padding) { return (4 * s.T + s.D) * kQueries + (padding ? 4 * s.T * s.D : 0); }

// body(head, scratch) for every head, those of one slot one after the other.
template <typename T, typename Body>
void for_each_head(const AttentionSizes& s, const AttentionKeys& keys, const T* qkv, T* scratch, Body&& body) {
  const int64_t slots = slots_of(s), size = slot_size(s, keys.kept != nullptr), heads = s.B * s.H;
  parallel_for(slots, work_per_head(s) * heads / slots, [&](int64_t slot) {
    const Scratch<T> own = cut(scratch + slot * size, s);
    for (int64_t index = slot; index < heads; index += slots) {
      body(head_of(s, keys, qkv, index, own), own);
    }
  });
}

}  // namespace

void attention_keys(int64_t B, int64_t T, const uint8_t* padded, int32_t* seen, int32_t* kept) {
  for (int64_t b = 0; b < B; ++b) {
    int32_t count = 0;
    for (int64_t j = 0; j < T; ++j) {
      if (padded == nullptr || padded[b * T + j] == 0) {
        kept[b * T + count++] = static_cast<int32_t>(j);
      }
      seen[b * T + j] = count;
    }
  }
}

int64_t attention_scratch(const AttentionSizes& s, bool padding) { return slots_of(s) * slot_size(s, padding); }

template <typename T>
void attention(const AttentionSizes& s, const AttentionKeys& keys, const AttentionDrop& drop, const T* qkv, T* y,
               double* log_sum, T* scratch) {
  const int64_t C = s.H * s.D, length = rows_in_block(qkv, s.B * s.T * 3 * C);
  for_each_head(s, keys, qkv, scratch, [&](const Head<T>& head, const Scratch<T>& own) {
    T* out = y + head.index / s.H * s.T * C + head.index % s.H * s.D;
    for (int64_t first = 0; first < s.T; first += length) {
      const Block<T> block(head, first, std::min(length, s.T - first));
      forward_block(s, drop, head, block, out, log_sum + head.index * s.T, own);
    }
  });
}

template <typename T>
void attention_backward(const AttentionSizes& s, const AttentionKeys& keys, const AttentionDrop& drop, const T* dy,
                        const T* qkv, const double* log_sum, T* dqkv, T* scratch) {
  const int64_t elements = s.B * s.T * s.H * s.D;
  const int64_t length = std::min(rows_in_block(qkv, 3 * elements), rows_in_block(dy, elements));
  for_each_head(s, keys, qkv, scratch, [&](const Head<T>& head, const Scratch<T>& own) {
    backward_head(s, drop, head, length, dy, log_sum + head.index * s.T, dqkv, own);
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
