// Which memory belongs to whom: every allocation of a device, and every pinned one of the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>

namespace ringlet::emulated_gpu {

struct Allocation {
  char* begin;
  size_t bytes;
  int device;
  cudaMemoryType type;
  bool registered;  // by cudaHostRegister: not ours to free
};

/// The allocation that `pointer` points into.
std::optional<Allocation> find_allocation(const void* pointer);

/// While one lives, device memory can be touched. Only counts when device memory is protected.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

/// Whether `bytes` from `pointer` may be one end of a copy: inside one allocation, or not ours.
bool holds(const void* pointer, size_t bytes);
bool is_on_device(const void* pointer);
/// Neither of a device nor pinned.
bool is_pageable(const void* pointer);

}  // namespace ringlet::emulated_gpu
