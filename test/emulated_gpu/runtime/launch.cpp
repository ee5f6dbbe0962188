// Launches: what a device refuses is refused here.
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "test/emulated_gpu/kernel/block_runner.h"
#include "test/emulated_gpu/kernel/kernel_name.h"
#include "test/emulated_gpu/kernel_launch.h"
#include "test/emulated_gpu/runtime/call.h"
#include "test/emulated_gpu/runtime/stream.h"

namespace ringlet::emulated_gpu {
namespace {

constexpr size_t kSharedBytes = 48 << 10, kMostSharedBytes = 227 << 10;

struct Functions {
  std::mutex mutex;
  std::map<const void*, size_t> shared_bytes;  // what cudaFuncSetAttribute allowed
  std::map<const void*, std::string> names;
};
Functions& functions() {
  static auto* const instance = new Functions;
  return *instance;
}

size_t allowed_shared_bytes(const void* function) {
  const std::lock_guard lock(functions().mutex);
  const auto found = functions().shared_bytes.find(function);
  return found == functions().shared_bytes.end() ? kSharedBytes : found->second;
}

bool is_possible(const KernelLaunch& launch) {
  const dim3 &grid = launch.grid, &block = launch.block;
  const bool grid_fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 2147483647U && grid.y <= 65535 && grid.z <= 65535;
  const bool block_fits = block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
                          static_cast<uint64_t>(block.x) * block.y * block.z <= 1024;
  return grid_fits && block_fits;
}

void run(const KernelLaunch& launch) {
  if (lasting_error() != cudaSuccess) {
    return;  // nothing runs after a kernel that failed
  }
  if (const cudaError_t told = count_call("kernel"); told != cudaSuccess) {
    set_lasting_error(told);
    return;
  }
  BlockRunner::current().run(launch);
}

}  // namespace

cudaError_t launch_kernel(KernelLaunch launch, cudaStream_t handle) {
  return runtime_call("cudaLaunchKernel", [&] {
    const auto stream = find_stream(handle);
    if (!stream || stream->device != current_device()) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!is_possible(launch)) {
      return cudaErrorInvalidConfiguration;
    }
    if (launch.shared_bytes > allowed_shared_bytes(launch.function)) {
      return cudaErrorInvalidValue;
    }
    return submit(handle, [kernel = std::move(launch)] { run(kernel); });
  });
}

}  // namespace ringlet::emulated_gpu

using namespace ringlet::emulated_gpu;

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return runtime_call("cudaFuncSetAttribute", [&] {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) {
      return cudaSuccess;
    }
    if (value < 0 || static_cast<size_t>(value) > kMostSharedBytes) {
      return cudaErrorInvalidValue;
    }
    const std::lock_guard lock(functions().mutex);
    functions().shared_bytes[function] = static_cast<size_t>(value);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  const std::lock_guard lock(functions().mutex);
  std::string& known = functions().names[function];
  if (known.empty()) {
    known = mangled_kernel_name(function);
  }
  *name = known.c_str();
  return known.empty() ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}
