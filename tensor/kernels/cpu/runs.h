// How an elementwise kernel walks over strided operands: dims that lie behind one another in memory are merged, so that equal
// contiguous shapes are one run, and a row broadcast over [.., C] is one run of C per row.
#pragma once

#include "tensor/kernels/cpu/parallel.h"
#include "tensor/shape.h"

namespace ringlet::kernels {

/// Extents and steps (in elements) of `y`, `a` and `b`, innermost dim first. A stretched operand has step 0.
struct Runs {
  int rank = 0;
  int64_t extent[kMaxDims];
  int64_t y[kMaxDims], a[kMaxDims], b[kMaxDims];
};

inline Runs merge_runs(const Shape& shape, const Shape& y, const Shape& a, const Shape& b) {
  Runs runs;
  int& last = runs.rank;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 1) {
      continue;
    }
    const int k = last - 1;
    if (last > 0 && y[i] == runs.y[k] * runs.extent[k] && a[i] == runs.a[k] * runs.extent[k] &&
        b[i] == runs.b[k] * runs.extent[k]) {
      runs.extent[k] *= shape[i];
      continue;
    }
    runs.extent[last] = shape[i];
    runs.y[last] = y[i], runs.a[last] = a[i], runs.b[last] = b[i];
    ++last;
  }
  if (last == 0) {  // one element
    runs.extent[0] = runs.y[0] = runs.a[0] = runs.b[0] = 1;
    last = 1;
  }
  return runs;
}

/// Offsets of the first elements of a run, and its length. The steps are those of dim 0.
struct Run {
  int64_t y, a, b, length;
};

/// Calls `body(run)` for all runs whose index in the outermost dim is in begin .. end − 1.
template <typename Body>
void walk_runs(const Runs& runs, int64_t begin, int64_t end, Body&& body) {
  const int top = runs.rank - 1;
  Run run = {begin * runs.y[top], begin * runs.a[top], begin * runs.b[top], top == 0 ? end - begin : runs.extent[0]};
  int64_t index[kMaxDims] = {};
  index[top] = begin;
  for (;;) {
    body(run);
    int dim = 1;
    for (; dim <= top; ++dim) {  // the odometer
      run.y += runs.y[dim], run.a += runs.a[dim], run.b += runs.b[dim];
      if (++index[dim] < (dim == top ? end : runs.extent[dim])) {
        break;
      }
      run.y -= runs.y[dim] * index[dim], run.a -= runs.a[dim] * index[dim], run.b -= runs.b[dim] * index[dim];
      index[dim] = 0;
    }
    if (dim > top) {
      return;
    }
  }
}

/// Calls `body(run)` for every run, on threads when there is much to do.
template <typename Body>
void for_each_run(const Runs& runs, Body&& body) {
  int64_t inner = 1;
  for (int i = 0; i + 1 < runs.rank; ++i) {
    inner *= runs.extent[i];
  }
  const int64_t outer = runs.extent[runs.rank - 1];
  if (inner * outer == 0) {
    return;
  }
  parallel_ranges(outer, inner, [&](int64_t begin, int64_t end) { walk_runs(runs, begin, end, body); });
}

}  // namespace ringlet::kernels
