#include "tensor/base/gpu.h"

#include <dlfcn.h>

#include "tensor/base/build_info.h"
#include "tensor/base/optional_library.h"

namespace ringlet {
namespace {

constexpr const char* kLibrary = "libringlet_cuda.so";

struct GpuLibrary {
  OptionalLibrary file = open_optional_library(kLibrary, "RINGLET_CUDA_LIBRARY", "the CUDA toolkit");
  Gpu* gpu = nullptr;
  std::string why_not = file.why_not;

  GpuLibrary() {
    if (file.handle == nullptr) {
      return;
    }
    const auto* version = static_cast<const char*>(dlsym(file.handle, "ringlet_gpu_version"));
    const auto opener = reinterpret_cast<Gpu* (*)(std::string&)>(dlsym(file.handle, "ringlet_open_gpu"));
    if (version == nullptr || opener == nullptr || build_info().version != std::string(version)) {
      why_not = message("{} is of version {}, this program of {}; build both together", file.name,
                        version == nullptr ? "?" : version, build_info().version);
      return;
    }
    gpu = opener(why_not);
  }
};

// A driver is of the process, not of a rank: opened once, and never closed, since streams of ended threads may still use it.
const GpuLibrary& opened() {
  static const GpuLibrary& one = *new GpuLibrary;
  return one;
}

}  // namespace

Gpu& gpu() {
  check<DeviceUnavailable>(opened().gpu != nullptr, "cuda: {}; take the device cpu", opened().why_not);
  return *opened().gpu;
}

std::string why_no_gpu() { return opened().gpu == nullptr ? opened().why_not : std::string(); }

void* gpu_symbol(const char* name) {
  gpu();
  void* symbol = dlsym(opened().file.handle, name);
  check<DeviceUnavailable>(symbol != nullptr, "cuda: {} has no {}; build both together", kLibrary, name);
  return symbol;
}

}  // namespace ringlet
