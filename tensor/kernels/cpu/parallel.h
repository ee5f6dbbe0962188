// Threads inside a rank, where OpenMP is there. The caller cuts the work into blocks by sizes alone, never by the number of
// threads (but for the product, whose bits no cut changes), and no two blocks write the same element, so the bits of a result do
// not depend on who computed which block.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ringlet::kernels {

/// Element operations below which waking threads (some microseconds) costs more than they save.
inline constexpr int64_t kParallelWork = int64_t{1} << 20;
/// Element operations in a block of `parallel_ranges`.
inline constexpr int64_t kRangeWork = int64_t{1} << 16;

#if defined(_OPENMP) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RINGLET_THREADS 1
#else
#define RINGLET_THREADS 0  // the sanitizers do not see through OpenMP's own locks
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#undef RINGLET_THREADS
#define RINGLET_THREADS 0
#endif
#endif

/// Whether `parallel_for` of this size may run blocks at the same time, so that each needs scratch of its own.
inline bool runs_in_parallel(int64_t blocks, int64_t work_per_block) {
  return RINGLET_THREADS != 0 && blocks > 1 && work_per_block > kParallelWork / blocks;
}

/// body(0) … body(blocks − 1), each once, in any order. `work_per_block` in element operations. `body` must not throw.
template <typename Body>
void parallel_for(int64_t blocks, int64_t work_per_block, Body&& body) {
#if RINGLET_THREADS
  if (runs_in_parallel(blocks, work_per_block)) {
#pragma omp parallel for schedule(static)
    for (int64_t block = 0; block < blocks; ++block) {
      body(block);
    }
    return;
  }
#endif
  static_cast<void>(work_per_block);
  for (int64_t block = 0; block < blocks; ++block) {
    body(block);
  }
}

/// body(begin, end) for consecutive ranges that cover 0 … items − 1, each of about `kRangeWork` element operations.
template <typename Body>
void parallel_ranges(int64_t items, int64_t work_per_item, Body&& body) {
  const int64_t length = std::max<int64_t>(1, kRangeWork / std::max<int64_t>(1, work_per_item));
  parallel_for((items + length - 1) / length, length * work_per_item,
               [&](int64_t block) { body(block * length, std::min(items, (block + 1) * length)); });
}

}  // namespace ringlet::kernels
