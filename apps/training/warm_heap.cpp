#include "apps/training/warm_heap.h"

#include <malloc.h>
#include <sys/resource.h>

#include <limits>

namespace ringlet {

void keep_heap_warm() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc takes; mmapped blocks are unmapped when freed
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());  // the top of the heap is never given back
  mallopt(M_TOP_PAD, 1 << 20);
}

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace ringlet
