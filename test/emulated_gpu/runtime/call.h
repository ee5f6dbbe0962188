// What every call of the runtime has in common: it is counted, may be told to fail, and leaves its error behind.
#pragma once

#include <cuda_runtime_api.h>

#include <new>

#include "test/emulated_gpu/runtime/knobs.h"

namespace ringlet::emulated_gpu {

/// The error that a kernel left: every later call returns it.
cudaError_t lasting_error();
void set_lasting_error(cudaError_t error);

/// Makes `error` the last one of this host thread, unless it is cudaSuccess; returns it.
cudaError_t leave(cudaError_t error);

/// The device that this host thread has chosen.
int current_device();

/// Runs `body`, the call `name`, which returns a cudaError_t.
template <typename Body>
cudaError_t runtime_call(const char* name, const Body& body) {
  if (const cudaError_t told = count_call(name); told != cudaSuccess) {
    return leave(told);
  }
  if (device_count() == 0) {
    return leave(cudaErrorNoDevice);
  }
  if (const cudaError_t lasting = lasting_error(); lasting != cudaSuccess) {
    return leave(lasting);
  }
  try {
    return leave(body());
  } catch (const std::bad_alloc&) {
    return leave(cudaErrorMemoryAllocation);
  }
}

}  // namespace ringlet::emulated_gpu
