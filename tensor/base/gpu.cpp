#include "tensor/base/gpu.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tensor/base/build_info.h"

namespace ringlet {
namespace {

constexpr const char* kLibrary = "libringlet_cuda.so";

// Where the library may be, the surest first. A name without a folder is looked for by the system.
std::vector<std::string> candidates() {
  if (const char* named = std::getenv("RINGLET_CUDA_LIBRARY"); named != nullptr && *named != '\0') {
    return {named};
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return {(program.parent_path() / kLibrary).string(), (program.parent_path() / ".." / "lib" / kLibrary).string(), kLibrary};
}

struct GpuLibrary {
  void* handle = nullptr;
  Gpu* gpu = nullptr;
  std::string why_not;

  GpuLibrary() {
    for (const std::string& name : candidates()) {
      if (handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
        open();
        return;
      }
      const char* error = dlerror();
      const bool there = name.find('/') != std::string::npos && std::filesystem::exists(name);
      if (why_not.empty() || there) {
        why_not = error == nullptr ? name : error;
      }
      if (there) {
        return;
      }
    }
    if (std::getenv("RINGLET_CUDA_LIBRARY") == nullptr) {
      why_not = message("this build has no {}; build with the CUDA toolkit for one", kLibrary);
    }
  }

 private:
  void open() {
    const auto* version = static_cast<const char*>(dlsym(handle, "ringlet_gpu_version"));
    const auto opener = reinterpret_cast<Gpu* (*)(std::string&)>(dlsym(handle, "ringlet_open_gpu"));
    if (version == nullptr || opener == nullptr || build_info().version != std::string(version)) {
      why_not = message("{} is of version {}, this program of {}; build both together", kLibrary,
                        version == nullptr ? "?" : version, build_info().version);
      return;
    }
    gpu = opener(why_not);
  }
};

// A driver is of the process, not of a rank: opened once, and never closed, since streams of ended threads may still use it.
const GpuLibrary& library() {
  static const GpuLibrary& opened = *new GpuLibrary;
  return opened;
}

}  // namespace

Gpu& gpu() {
  check<DeviceUnavailable>(library().gpu != nullptr, "cuda: {}; take the device cpu", library().why_not);
  return *library().gpu;
}

std::string why_no_gpu() { return library().gpu == nullptr ? library().why_not : std::string(); }

void* gpu_symbol(const char* name) {
  gpu();
  void* symbol = dlsym(library().handle, name);
  check<DeviceUnavailable>(symbol != nullptr, "cuda: {} has no {}; build both together", kLibrary, name);
  return symbol;
}

}  // namespace ringlet
