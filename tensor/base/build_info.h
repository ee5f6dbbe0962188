// How this library was built. Shown by --info and recorded in checkpoints: bits may differ between two builds.
#pragma once

#include <string>

namespace ringlet {

struct BuildInfo {
  std::string version;     // "0.1.0"
  std::string commit;      // git describe when the build was configured; empty outside a repository
  std::string compiler;    // "GNU 12.2.0"
  std::string build_type;  // "Release"
  std::string flags;       // what every source file is compiled with
  std::string arch;        // the CPU level that was asked for: "native", "x86-64-v3"
  std::string cpu_level;   // the instruction sets that came of it: "x86-64-v4 + AVX512VNNI AVX512BF16"
};

BuildInfo build_info();

}  // namespace ringlet
