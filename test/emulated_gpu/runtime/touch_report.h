// Says so when host code touches protected device memory, before the program ends.
#pragma once

namespace ringlet::emulated_gpu {

/// Once; after it, a fault is first compared with the allocations of devices, then handled as before.
void report_touches_of_device_memory();

}  // namespace ringlet::emulated_gpu
