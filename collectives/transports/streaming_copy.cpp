#include "collectives/transports/streaming_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ringlet {

void streaming_copy(void* to, const void* from, size_t bytes) {
#if defined(__SSE2__)
  constexpr size_t kLine = 64;
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(target) % kLine) % kLine;
  if (bytes >= head + kLine) {
    std::memcpy(target, source, head);
    const size_t lines = (bytes - head) / kLine * kLine;
    for (size_t i = head; i < head + lines; i += kLine) {  // whole lines, or the stores would be read-modify-write after all
      for (size_t j = 0; j < kLine; j += sizeof(__m128i)) {
        const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i + j));
        _mm_stream_si128(reinterpret_cast<__m128i*>(target + i + j), block);
      }
    }
    _mm_sfence();
    target += head + lines, source += head + lines, bytes -= head + lines;
  }
  std::memcpy(target, source, bytes);
#else
  std::memcpy(to, from, bytes);
#endif
}

}  // namespace ringlet
