#include "tensor/base/cpu_features.h"

namespace ringlet {

// A macro that the compiler predefines as 1 turns into "1" here, one that it does not stays a name.
#define RINGLET_TEXT(x) #x
#define RINGLET_DEFINED(macro) (RINGLET_TEXT(macro)[0] == '1')

namespace {
constexpr uint32_t kXmm = 0, kYmm = 0x6, kZmm = 0xe6;
}

// clang-format off
constinit const CpuFeature kCpuFeatures[] = {
#if defined(__x86_64__)
  // name           compiled                              level  leaf        sub  register        bit  state
  {"SSE3",          RINGLET_DEFINED(__SSE3__),            2,     1,          0,   CpuFeature::Ecx, 0,  kXmm},
  {"SSSE3",         RINGLET_DEFINED(__SSSE3__),           2,     1,          0,   CpuFeature::Ecx, 9,  kXmm},
  {"SSE4.1",        RINGLET_DEFINED(__SSE4_1__),          2,     1,          0,   CpuFeature::Ecx, 19, kXmm},
  {"SSE4.2",        RINGLET_DEFINED(__SSE4_2__),          2,     1,          0,   CpuFeature::Ecx, 20, kXmm},
  {"POPCNT",        RINGLET_DEFINED(__POPCNT__),          2,     1,          0,   CpuFeature::Ecx, 23, kXmm},
  {"AVX",           RINGLET_DEFINED(__AVX__),             3,     1,          0,   CpuFeature::Ecx, 28, kYmm},
  {"AVX2",          RINGLET_DEFINED(__AVX2__),            3,     7,          0,   CpuFeature::Ebx, 5,  kYmm},
  {"BMI",           RINGLET_DEFINED(__BMI__),             3,     7,          0,   CpuFeature::Ebx, 3,  kXmm},
  {"BMI2",          RINGLET_DEFINED(__BMI2__),            3,     7,          0,   CpuFeature::Ebx, 8,  kXmm},
  {"F16C",          RINGLET_DEFINED(__F16C__),            3,     1,          0,   CpuFeature::Ecx, 29, kYmm},
  {"FMA",           RINGLET_DEFINED(__FMA__),             3,     1,          0,   CpuFeature::Ecx, 12, kYmm},
  {"LZCNT",         RINGLET_DEFINED(__LZCNT__),           3,     0x80000001, 0,   CpuFeature::Ecx, 5,  kXmm},
  {"MOVBE",         RINGLET_DEFINED(__MOVBE__),           3,     1,          0,   CpuFeature::Ecx, 22, kXmm},
  {"AVX512F",       RINGLET_DEFINED(__AVX512F__),         4,     7,          0,   CpuFeature::Ebx, 16, kZmm},
  {"AVX512BW",      RINGLET_DEFINED(__AVX512BW__),        4,     7,          0,   CpuFeature::Ebx, 30, kZmm},
  {"AVX512CD",      RINGLET_DEFINED(__AVX512CD__),        4,     7,          0,   CpuFeature::Ebx, 28, kZmm},
  {"AVX512DQ",      RINGLET_DEFINED(__AVX512DQ__),        4,     7,          0,   CpuFeature::Ebx, 17, kZmm},
  {"AVX512VL",      RINGLET_DEFINED(__AVX512VL__),        4,     7,          0,   CpuFeature::Ebx, 31, kZmm},
  {"GFNI",          RINGLET_DEFINED(__GFNI__),            5,     7,          0,   CpuFeature::Ecx, 8,  kXmm},
  {"AVXVNNI",       RINGLET_DEFINED(__AVXVNNI__),         5,     7,          1,   CpuFeature::Eax, 4,  kYmm},
  {"AVX512IFMA",    RINGLET_DEFINED(__AVX512IFMA__),      5,     7,          0,   CpuFeature::Ebx, 21, kZmm},
  {"AVX512VBMI",    RINGLET_DEFINED(__AVX512VBMI__),      5,     7,          0,   CpuFeature::Ecx, 1,  kZmm},
  {"AVX512VBMI2",   RINGLET_DEFINED(__AVX512VBMI2__),     5,     7,          0,   CpuFeature::Ecx, 6,  kZmm},
  {"AVX512VNNI",    RINGLET_DEFINED(__AVX512VNNI__),      5,     7,          0,   CpuFeature::Ecx, 11, kZmm},
  {"AVX512BITALG",  RINGLET_DEFINED(__AVX512BITALG__),    5,     7,          0,   CpuFeature::Ecx, 12, kZmm},
  {"AVX512POPCNT",  RINGLET_DEFINED(__AVX512VPOPCNTDQ__), 5,     7,          0,   CpuFeature::Ecx, 14, kZmm},
  {"AVX512FP16",    RINGLET_DEFINED(__AVX512FP16__),      5,     7,          0,   CpuFeature::Edx, 23, kZmm},
  {"AVX512BF16",    RINGLET_DEFINED(__AVX512BF16__),      5,     7,          1,   CpuFeature::Eax, 5,  kZmm},
#endif
  {nullptr, false, 0, 0, 0, CpuFeature::Eax, 0, kXmm},
};
// clang-format on

}  // namespace ringlet
