// The knobs of the emulated GPU, for tests. Their first values come from the environment:
//   RINGLET_EMULATED_GPUS=n                     how many devices (1); with 0, every call fails with cudaErrorNoDevice
//   RINGLET_EMULATED_GPU_BYTES=n                memory of each device (4 GiB); more of it is cudaErrorMemoryAllocation
//   RINGLET_EMULATED_GPU_FAIL=call:n[:error]    the n-th call of that name fails once, from 1: cudaMalloc:3, cudaEventRecord:1:999.
//                                               "kernel" is the n-th kernel that runs: its error stays, as on a device
//   RINGLET_EMULATED_GPU_ORDER=forward|reverse|shuffled     in which order blocks, and threads between two barriers, run
//   RINGLET_EMULATED_GPU_RACECHECK=1            look for races in shared memory (kernel/racecheck.h): four times slower
//   RINGLET_EMULATED_GPU_PROTECT=1              device memory cannot be touched while no work of a stream runs (read at the start)
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>

namespace ringlet::emulated_gpu {

enum class Order { Forward, Reverse, Shuffled };

void set_device_count(int devices);
void set_device_bytes(size_t bytes);
// These return what was before.
Order set_order(Order order);
bool set_racecheck(bool looks);
/// The `n`-th call of `name` from now on fails with `error`, once.
void fail_call(std::string_view name, int n, cudaError_t error);
/// Forgets a failure that has not happened, and an error that stayed.
void forget_failures();

/// How often `name` was called so far: whether an op waits for the device, or allocates in a steady state.
uint64_t calls(std::string_view name);
/// Bytes of device memory in use.
size_t bytes_in_use(int device);

}  // namespace ringlet::emulated_gpu
