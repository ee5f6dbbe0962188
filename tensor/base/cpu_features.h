// The instruction sets beyond plain x86-64 that a compiler may use of its own accord, and which of them this build may use.
#pragma once

#include <cstdint>

namespace ringlet {

/// One instruction set, and where CPUID says whether a CPU has it (Intel SDM vol. 2A, CPUID; AMD APM vol. 3, appendix E).
/// Plain data, initialised by the compiler, so that it can be read before any code of this build may run.
struct CpuFeature {
  enum Register : uint8_t { Eax, Ebx, Ecx, Edx };

  const char* name;  // null in the row that ends the table
  bool compiled;     // this build may use it
  int level;         // first x86-64-vN that includes it (System V psABI); 5: none does
  uint32_t leaf;     // of CPUID
  uint32_t subleaf;
  Register reg;          // the register of the answer
  int bit;               // in that register
  uint32_t saved_state;  // bits of XCR0: the register state that the operating system must save for it
};

/// The table, ended by a row whose name is null. Empty on other architectures.
extern const CpuFeature kCpuFeatures[];

}  // namespace ringlet
