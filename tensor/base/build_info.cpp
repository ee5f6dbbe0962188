#include "tensor/base/build_info.h"

#include "tensor/base/cpu_features.h"

namespace ringlet {

namespace {

// The highest x86-64-vN of which the build may use everything, then what it may use beyond.
std::string compiled_level() {
#if defined(__x86_64__)
  int level = 4;
  for (const CpuFeature* row = kCpuFeatures; row->name != nullptr; ++row) {
    if (!row->compiled && row->level <= level) {
      level = row->level - 1;
    }
  }
  std::string text = level == 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
  const char* separator = " + ";
  for (const CpuFeature* row = kCpuFeatures; row->name != nullptr; ++row) {
    if (row->compiled && row->level > level) {
      text += separator;
      text += row->name;
      separator = " ";
    }
  }
  return text;
#else
  return "not x86-64";
#endif
}

}  // namespace

BuildInfo build_info() {
  return {.version = RINGLET_VERSION,
          .commit = RINGLET_COMMIT,
          .compiler = RINGLET_COMPILER,
          .build_type = RINGLET_BUILD_TYPE,
          .flags = RINGLET_FLAGS,
          .arch = RINGLET_ARCH,
          .cpu_level = compiled_level()};
}

}  // namespace ringlet
