// Devices: how many, which one a host thread has chosen, what they can do.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "test/emulated_gpu/runtime/call.h"

using namespace ringlet::emulated_gpu;

namespace {

thread_local int chosen = 0;

constexpr size_t kSharedBytes = 48 << 10, kMostSharedBytes = 227 << 10;

bool is_device(int device) { return device >= 0 && device < device_count(); }

}  // namespace

int ringlet::emulated_gpu::current_device() { return chosen; }

cudaError_t cudaGetDeviceCount(int* count) {
  return runtime_call("cudaGetDeviceCount", [&] {
    *count = device_count();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return runtime_call("cudaSetDevice", [&] {
    if (!is_device(device)) {
      return cudaErrorInvalidDevice;
    }
    chosen = device;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return runtime_call("cudaGetDevice", [&] {
    *device = chosen;
    return cudaSuccess;
  });
}

// A small device with the limits of compute capability 9.0.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return runtime_call("cudaGetDeviceProperties", [&] {
    if (!is_device(device)) {
      return cudaErrorInvalidDevice;
    }
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "Emulated GPU");
    std::memset(properties->uuid.bytes, device + 1, sizeof properties->uuid.bytes);
    properties->totalGlobalMem = device_bytes();
    properties->sharedMemPerBlock = kSharedBytes;
    properties->sharedMemPerBlockOptin = kMostSharedBytes;
    properties->regsPerBlock = 65536;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    std::copy_n(std::initializer_list<int>{1024, 1024, 64}.begin(), 3, properties->maxThreadsDim);
    std::copy_n(std::initializer_list<int>{2147483647, 65535, 65535}.begin(), 3, properties->maxGridSize);
    properties->major = 9;
    properties->multiProcessorCount = 4;
    properties->l2CacheSize = 1 << 16;
    properties->pciBusID = device;
    properties->asyncEngineCount = 2;
    properties->unifiedAddressing = 1;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->streamPrioritiesSupported = 1;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return runtime_call("cudaDeviceGetAttribute", [&] {
    if (!is_device(device)) {
      return cudaErrorInvalidDevice;
    }
    switch (attribute) {
      case cudaDevAttrMaxThreadsPerBlock: *value = 1024; return cudaSuccess;
      case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(kSharedBytes); return cudaSuccess;
      case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(kMostSharedBytes); return cudaSuccess;
      case cudaDevAttrWarpSize: *value = 32; return cudaSuccess;
      case cudaDevAttrMultiProcessorCount: *value = 4; return cudaSuccess;
      case cudaDevAttrComputeCapabilityMajor: *value = 9; return cudaSuccess;
      case cudaDevAttrComputeCapabilityMinor: *value = 0; return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int device) {
  return runtime_call("cudaDeviceGetPCIBusId", [&] {
    if (!is_device(device) || length < 13) {
      return is_device(device) ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
    }
    std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", device);
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
