// The GPU's fault, or that of its driver: out of memory, no device, a kernel that failed.
#pragma once

#include <stdexcept>

namespace ringlet {

/// A call of the GPU's runtime failed. `what()` names the kernel or the call, the error and its text:
/// `cudaMalloc: out of memory, cudaErrorMemoryAllocation`. After some errors nothing works any more on the device.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ringlet
