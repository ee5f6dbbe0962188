#include "tensor/base/optional_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

// The surest first. A name without a folder is looked for by the system.
std::vector<std::string> candidates(const std::string& name) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return {(folder / name).string(), (folder / ".." / "lib" / name).string(), name};
}

}  // namespace

OptionalLibrary open_optional_library(const std::string& name, const char* variable, const std::string& needs) {
  const char* named = std::getenv(variable);
  const bool one = named != nullptr && *named != '\0';
  for (const std::string& path : one ? std::vector<std::string>{named} : candidates(name)) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
      return {handle, path, {}};
    }
    const char* error = dlerror();
    const bool there = path.find('/') != std::string::npos && std::filesystem::exists(path);
    if (one || there) {
      return {nullptr, {}, error == nullptr ? path : error};
    }
  }
  return {nullptr, {}, message("this build has no {}; where {} is installed, cmake --build makes one", name, needs)};
}

}  // namespace ringlet
