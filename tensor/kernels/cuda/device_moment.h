// Moments of a thread's work on the device, by events of CUDA.
#pragma once

#include <memory>

#include "tensor/base/gpu.h"

namespace ringlet::kernels::cuda {

/// Gpu::mark.
std::unique_ptr<DeviceMoment> mark_stream();

}  // namespace ringlet::kernels::cuda
