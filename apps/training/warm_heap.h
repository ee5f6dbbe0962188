// A heap that keeps what it was given.
#pragma once

#include <cstdint>

namespace ringlet {

/// Call first thing in main. Freed memory stays mapped and warm: after the first steps a training loop's own allocations, and
/// those of the libraries under it, touch no fresh page (a first touch costs 50 times a reuse).
void keep_heap_warm();

/// Minor page faults of this process so far.
int64_t page_faults();

}  // namespace ringlet
