// Compiled for plain x86-64 whatever the rest of the build is compiled for. It calls nothing inline from a header: the
// linker keeps one copy of such a function, and that could be one with the instructions that are asked about here.
#include "tensor/base/cpu_level.h"

#include "tensor/base/cpu_features.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

using ringlet::CpuFeature;
using ringlet::kCpuFeatures;

constexpr int kUsage = 2, kDeviceNotAvailable = 7;
constexpr int kEveryLevel = 9;
const char* const kLevels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

struct Line {
  char text[512];
  size_t size;

  void append(const char* words) {
    while (*words != '\0' && size < sizeof text) {
      text[size++] = *words++;
    }
  }
};

// XCR0: which register state the operating system saves when it switches threads; 0 when it cannot be asked.
unsigned saved_state() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kOsXsave = 1U << 27;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsXsave) == 0) {
    return 0;
  }
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool has(const CpuFeature& feature) {
  unsigned answer[4] = {};
  if (__get_cpuid_count(feature.leaf, feature.subleaf, &answer[0], &answer[1], &answer[2], &answer[3]) == 0) {
    return false;
  }
  return (answer[feature.reg] >> feature.bit & 1U) != 0 && (saved_state() & feature.saved_state) == feature.saved_state;
}

[[noreturn]] void end(const Line& line, int code) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.text, line.size);
  _exit(code);
}

int pretended_level() {
  const char* name = getenv("RINGLET_PRETEND_CPU");
  if (name == nullptr || *name == '\0') {
    return kEveryLevel;
  }
  for (int i = 0; i < 4; ++i) {
    if (strcmp(name, kLevels[i]) == 0) {
      return i + 1;
    }
  }
  Line line = {};
  line.append("ringlet: RINGLET_PRETEND_CPU: takes x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, got '");
  line.append(name);
  line.append("'\n");
  end(line, kUsage);
}

}  // namespace

__attribute__((constructor(101))) void ringlet_require_cpu_level() {
  const int pretended = pretended_level();
  bool able = true;
  int level = 4;  // of this CPU: the lowest missing row ends it
  Line line = {};
  line.append("ringlet: this build uses");
  for (const CpuFeature* feature = kCpuFeatures; feature->name != nullptr; ++feature) {
    if (feature->level <= pretended && has(*feature)) {
      continue;
    }
    level = feature->level - 1 < level ? feature->level - 1 : level;
    if (feature->compiled) {
      able = false;
      line.append(" ");
      line.append(feature->name);
    }
  }
  if (able) {
    return;
  }
  line.append(", which this CPU does not have: configure with -DRINGLET_ARCH=");
  line.append(kLevels[level - 1]);
  line.append(" and build again\n");
  end(line, kDeviceNotAvailable);
}

#else

void ringlet_require_cpu_level() {}

#endif
