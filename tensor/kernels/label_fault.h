// The first id or label out of range, and how it is told: at once on the CPU, at the next wait on a device.
#pragma once

#include <cstdint>

#include "tensor/base/check.h"

namespace ringlet::kernels {

struct LabelFault {
  enum class Kind : int32_t { None, Label, Id };
  Kind kind = Kind::None;
  int32_t value = 0;
  int32_t ignored = 0;  // of a label
  int64_t position = 0;
  int64_t V = 0;
};

[[noreturn]] inline void fail_for(const LabelFault& fault) {
  if (fault.kind == LabelFault::Kind::Label) {
    fail("cross_entropy: label {} at position {}, V = {}, labels are 0 .. {} or {}", fault.value, fault.position, fault.V,
         fault.V - 1, fault.ignored);
  }
  fail("embedding: id {} at position {}, V = {}, ids are 0 .. {}", fault.value, fault.position, fault.V, fault.V - 1);
}

}  // namespace ringlet::kernels
