// Whether ids and labels are in range.
#pragma once

#include <cstdint>

namespace ringlet::kernels {

/// *counted = how many labels are not `ignored`. One that is neither `ignored` nor in 0 .. V−1 is an `Error` that names its
/// position and V; on a device that `Error` comes from the next wait for the device.
void count_labels(const int32_t* labels, int64_t n, int32_t ignored, int64_t V, int64_t* counted);

/// The same for ids of which every one counts.
void check_ids(const int32_t* ids, int64_t n, int64_t V);

}  // namespace ringlet::kernels
