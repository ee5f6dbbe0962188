// Who a thread of a kernel is. The scheduler of a block sets these whenever it lets a thread go on.
#pragma once

#include <vector_types.h>

#include <cstddef>

// Small, and read in every kernel: a fixed offset from the thread pointer costs no call.
#define RINGLET_DEVICE_VARIABLE extern constinit thread_local __attribute__((tls_model("initial-exec")))

RINGLET_DEVICE_VARIABLE uint3 threadIdx;
RINGLET_DEVICE_VARIABLE uint3 blockIdx;
RINGLET_DEVICE_VARIABLE dim3 blockDim;
RINGLET_DEVICE_VARIABLE dim3 gridDim;

inline constexpr int warpSize = 32;

namespace ringlet::emulated_gpu {

/// The dynamic shared memory of the running block, filled with 0xff bytes before the block begins.
RINGLET_DEVICE_VARIABLE void* dynamic_shared_memory;
/// Of the running thread in its warp.
RINGLET_DEVICE_VARIABLE unsigned lane_index;
/// Whether it loads or stores a fragment: on a device nobody knows which lane has which element.
RINGLET_DEVICE_VARIABLE bool in_warp_operation;

}  // namespace ringlet::emulated_gpu
