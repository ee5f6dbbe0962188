// Work recorded as a CUDA graph.
#pragma once

#include <functional>
#include <memory>

#include "tensor/base/gpu.h"

namespace ringlet::kernels::cuda {

/// See Gpu::record.
std::unique_ptr<RecordedWork> record_work(const std::function<void()>& work);

}  // namespace ringlet::kernels::cuda
