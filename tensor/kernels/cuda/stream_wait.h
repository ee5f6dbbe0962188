// Waiting for the calling thread's stream, with an eye on what else may happen (Gpu::watch).
#pragma once

#include <functional>
#include <memory>

namespace ringlet::kernels::cuda {

/// Gpu::watch.
std::shared_ptr<void> watch_waits(std::function<void()> look);

/// Returns when all is done that the calling thread has asked for. Throws what a look throws, and DeviceError.
void wait_for_stream();

}  // namespace ringlet::kernels::cuda
