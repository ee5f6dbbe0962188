// The Gpu of tensor/base/gpu.h, on the CUDA runtime.
#pragma once

#include <string>

#include "tensor/base/gpu.h"

namespace ringlet::kernels::cuda {

/// The GPUs of this machine for the length of the process; null, and why, when there is none.
Gpu* open_gpu(std::string& why_not);

}  // namespace ringlet::kernels::cuda
