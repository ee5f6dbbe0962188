// What a transport has done for one rank, where it can tell.
#pragma once

#include <cstdint>

namespace ringlet {

struct Moved {
  int64_t messages = 0;  // sent
  int64_t bytes = 0;     // sent in them, or copied from memory to memory

  friend Moved operator-(const Moved& a, const Moved& b) { return {a.messages - b.messages, a.bytes - b.bytes}; }
  Moved& operator+=(const Moved& more) {
    messages += more.messages;
    bytes += more.bytes;
    return *this;
  }
};

}  // namespace ringlet
