// One launch over many pieces of memory ("multi-tensor apply"; NVIDIA Apex, 2018): a model has a hundred small parameters, and a
// launch each would cost more than the work. The list travels as an argument of the kernel, so nothing is copied beforehand; 64 slices
// of six words fit into the 4 KB that every device allows.
//
// A block takes a chunk of 2,048 elements of one slice, a thread every 256th of them: neighbouring threads read neighbouring
// elements, whatever the alignment. With 2,048 threads on a multiprocessor and four loads of 4 bytes each, 32 KB are in flight, more
// than an H200 needs (pack.cuh). An element's bits depend on its operands alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {

inline constexpr int64_t kChunk = 2048;
inline constexpr int kChunkThreads = 256;

template <typename Slice>
struct SliceList {
  static constexpr int kMost = 64;
  Slice slices[kMost];
  unsigned first_chunk[kMost + 1];  // number of chunks before slice i
  int count;
};

/// Calls body(slice, i) for those elements of the list that are this thread's.
template <typename Slice, typename Body>
__device__ void for_each_element(const SliceList<Slice>& list, Body&& body) {
  int low = 0, high = list.count;
  while (high - low > 1) {  // the last slice that begins at or before this chunk
    const int middle = (low + high) / 2;
    (list.first_chunk[middle] <= blockIdx.x ? low : high) = middle;
  }
  const Slice& slice = list.slices[low];
  const int64_t begin = static_cast<int64_t>(blockIdx.x - list.first_chunk[low]) * kChunk;
  const int64_t end = begin + kChunk < slice.n ? begin + kChunk : slice.n;
  for (int64_t i = begin + threadIdx.x; i < end; i += kChunkThreads) {
    body(slice, i);
  }
}

/// Starts `kernel(list, arguments...)` on all slices, 64 at a time.
template <typename Slice, typename Kernel, typename... Arguments>
void launch_on_slices(Kernel kernel, const Slice* slices, int64_t count, const Arguments&... arguments) {
  for (int64_t begin = 0; begin < count; begin += SliceList<Slice>::kMost) {
    SliceList<Slice> list{};
    list.count = static_cast<int>(std::min<int64_t>(SliceList<Slice>::kMost, count - begin));
    for (int i = 0; i < list.count; ++i) {
      list.slices[i] = slices[begin + i];
      list.first_chunk[i + 1] = list.first_chunk[i] + static_cast<unsigned>((list.slices[i].n + kChunk - 1) / kChunk);
    }
    launch(kernel, dim3(list.first_chunk[list.count]), dim3(kChunkThreads), 0, list, arguments...);
  }
}

}  // namespace ringlet::kernels::cuda
