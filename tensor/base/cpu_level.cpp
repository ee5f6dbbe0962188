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

constexpr int kDeviceNotAvailable = 7;
constexpr int kEveryLevel = 9;

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

int pretended_level() {
  const char* name = getenv("RINGLET_PRETEND_CPU");
  if (name == nullptr || strncmp(name, "x86-64", 6) != 0) {
    return kEveryLevel;
  }
  return strncmp(name + 6, "-v", 2) == 0 ? name[8] - '0' : 1;
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
  const char* const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  line.append(", which this CPU does not have: configure with -DRINGLET_ARCH=");
  line.append(levels[level - 1]);
  line.append(" and build again\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.text, line.size);
  _exit(kDeviceNotAvailable);
}

#else

void ringlet_require_cpu_level() {}

#endif
