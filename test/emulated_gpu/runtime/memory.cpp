#include "test/emulated_gpu/runtime/memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "test/emulated_gpu/runtime/call.h"
#include "test/emulated_gpu/runtime/stream.h"
#include "test/emulated_gpu/runtime/touch_report.h"

namespace ringlet::emulated_gpu {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<uintptr_t, Allocation> allocations;  // by the address of their begin
  std::map<int, size_t> used;
  int accesses = 0;
};
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

constexpr size_t kPage = 4096;
size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void protect(const Allocation& allocation, int protection) {
  if (allocation.type == cudaMemoryTypeDevice && mprotect(allocation.begin, whole_pages(allocation.bytes), protection) != 0) {
    std::abort();
  }
}

// From the heap, so that AddressSanitizer sees what kernels read and write beside it; from the system, where pages are protected.
char* acquire(size_t bytes, bool pages) {
  if (pages) {
    void* begin = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return begin == MAP_FAILED ? nullptr : static_cast<char*>(begin);
  }
  void* begin = nullptr;
  return posix_memalign(&begin, 256, bytes) == 0 ? static_cast<char*>(begin) : nullptr;
}

cudaError_t allocate(void** pointer, size_t bytes, cudaMemoryType type) {
  *pointer = nullptr;
  if (bytes == 0) {
    return cudaSuccess;
  }
  const bool on_device = type == cudaMemoryTypeDevice;
  const int device = current_device();
  const std::lock_guard lock(registry().mutex);
  if (on_device && (bytes > device_bytes() || registry().used[device] > device_bytes() - bytes)) {
    return cudaErrorMemoryAllocation;
  }
  const bool pages = on_device && protects_device_memory();
  char* begin = acquire(bytes, pages);
  if (begin == nullptr) {
    return cudaErrorMemoryAllocation;
  }
  std::memset(begin, 0xff, bytes);  // as floats: NaN
  const Allocation allocation{begin, bytes, device, type, false};
  registry().allocations[reinterpret_cast<uintptr_t>(begin)] = allocation;
  registry().used[device] += on_device ? bytes : 0;
  if (pages) {
    report_touches_of_device_memory();
  }
  if (pages && registry().accesses == 0) {
    protect(allocation, PROT_NONE);
  }
  *pointer = begin;
  return cudaSuccess;
}

cudaError_t release(void* pointer, cudaMemoryType type) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().allocations.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == registry().allocations.end() || found->second.type != type || found->second.registered) {
    return cudaErrorInvalidValue;
  }
  const Allocation allocation = found->second;
  registry().allocations.erase(found);
  if (type == cudaMemoryTypeDevice) {
    registry().used[allocation.device] -= allocation.bytes;
  }
  if (type == cudaMemoryTypeDevice && protects_device_memory()) {
    munmap(allocation.begin, whole_pages(allocation.bytes));
  } else {
    std::free(allocation.begin);
  }
  return cudaSuccess;
}

}  // namespace

std::optional<Allocation> find_allocation(const void* pointer) {
  const std::lock_guard lock(registry().mutex);
  auto after = registry().allocations.upper_bound(reinterpret_cast<uintptr_t>(pointer));
  if (after == registry().allocations.begin()) {
    return std::nullopt;
  }
  const Allocation& allocation = std::prev(after)->second;
  return static_cast<const char*>(pointer) < allocation.begin + allocation.bytes ? std::optional(allocation) : std::nullopt;
}

bool holds(const void* pointer, size_t bytes) {
  const auto allocation = find_allocation(pointer);
  return !allocation || static_cast<const char*>(pointer) + bytes <= allocation->begin + allocation->bytes;
}

bool is_on_device(const void* pointer) {
  const auto allocation = find_allocation(pointer);
  return allocation && allocation->type == cudaMemoryTypeDevice;
}

bool is_pageable(const void* pointer) { return !find_allocation(pointer); }

size_t bytes_in_use(int device) {
  const std::lock_guard lock(registry().mutex);
  return registry().used[device];
}

DeviceAccess::DeviceAccess() {
  if (protects_device_memory()) {
    const std::lock_guard lock(registry().mutex);
    if (registry().accesses++ == 0) {
      for (const auto& [begin, allocation] : registry().allocations) {
        protect(allocation, PROT_READ | PROT_WRITE);
      }
    }
  }
}

DeviceAccess::~DeviceAccess() {
  if (protects_device_memory()) {
    const std::lock_guard lock(registry().mutex);
    if (--registry().accesses == 0) {
      for (const auto& [begin, allocation] : registry().allocations) {
        protect(allocation, PROT_NONE);
      }
    }
  }
}

}  // namespace ringlet::emulated_gpu

using namespace ringlet::emulated_gpu;

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return runtime_call("cudaMalloc", [&] {
    return refuse_while_capturing() ? cudaErrorStreamCaptureUnsupported : allocate(pointer, bytes, cudaMemoryTypeDevice);
  });
}

// Work that was begun may still use the memory: the device comes to rest first, as a real one does.
cudaError_t cudaFree(void* pointer) {
  return runtime_call("cudaFree", [&] {
    if (pointer == nullptr) {
      return cudaSuccess;
    }
    if (refuse_while_capturing()) {
      return cudaErrorStreamCaptureUnsupported;
    }
    if (const auto allocation = find_allocation(pointer)) {
      finish_device(allocation->device);
    }
    return release(pointer, cudaMemoryTypeDevice);
  });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return runtime_call("cudaHostAlloc", [&] {
    return refuse_while_capturing() ? cudaErrorStreamCaptureUnsupported : allocate(pointer, bytes, cudaMemoryTypeHost);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return runtime_call("cudaMallocHost", [&] {
    return refuse_while_capturing() ? cudaErrorStreamCaptureUnsupported : allocate(pointer, bytes, cudaMemoryTypeHost);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return runtime_call("cudaFreeHost", [&] {
    if (pointer == nullptr) {
      return cudaSuccess;
    }
    for (int device = 0; device < device_count(); ++device) {
      finish_device(device);
    }
    return release(pointer, cudaMemoryTypeHost);
  });
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  return runtime_call("cudaHostRegister", [&] {
    if (pointer == nullptr || bytes == 0) {
      return cudaErrorInvalidValue;
    }
    if (find_allocation(pointer)) {
      return cudaErrorHostMemoryAlreadyRegistered;
    }
    const std::lock_guard lock(registry().mutex);
    registry().allocations[reinterpret_cast<uintptr_t>(pointer)] = {static_cast<char*>(pointer), bytes, current_device(),
                                                                    cudaMemoryTypeHost, true};
    return cudaSuccess;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return runtime_call("cudaHostUnregister", [&] {
    const std::lock_guard lock(registry().mutex);
    const auto found = registry().allocations.find(reinterpret_cast<uintptr_t>(pointer));
    if (found == registry().allocations.end() || !found->second.registered) {
      return cudaErrorHostMemoryNotRegistered;
    }
    registry().allocations.erase(found);
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return runtime_call("cudaMemGetInfo", [&] {
    *total_bytes = device_bytes();
    *free_bytes = device_bytes() - std::min(device_bytes(), bytes_in_use(current_device()));
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return runtime_call("cudaPointerGetAttributes", [&] {
    auto* address = const_cast<void*>(pointer);
    const auto allocation = find_allocation(pointer);
    const cudaMemoryType type = allocation ? allocation->type : cudaMemoryTypeUnregistered;
    *attributes = {.type = type,
                   .device = allocation ? allocation->device : -2,
                   .devicePointer = allocation ? address : nullptr,
                   .hostPointer = type == cudaMemoryTypeDevice ? nullptr : address};
    return cudaSuccess;
  });
}
