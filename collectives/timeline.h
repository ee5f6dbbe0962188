// What one rank did when: spans of time on two rows, its own work and its communication.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collectives/call.h"

namespace ringlet {

struct Span {
  enum class Row : uint8_t { Compute, Communication };
  Row row = Row::Compute;
  std::string name;      // "forward", "all_reduce"
  int64_t begin_ns = 0;  // on this process's steady clock
  int64_t end_ns = 0;
  std::string group{};  // of communication, with the fields below
  uint64_t sequence = 0;
  int64_t bytes = 0;
  std::string site{};  // "zero.cpp:24"
  bool control = false;
};

class Timeline {
 public:
  /// More than these are counted, not kept: 100 MB.
  static constexpr size_t kLongest = size_t{1} << 20;

  static int64_t now_ns() {
    using std::chrono::steady_clock;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(steady_clock::now().time_since_epoch()).count();
  }
  /// What to add to this process's steady clock to have the time of day, which all hosts share.
  static int64_t steady_to_wall_ns() {
    using std::chrono::system_clock;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(system_clock::now().time_since_epoch()).count() - now_ns();
  }

  void add(Span span) {
    if (spans_.size() < kLongest) {
      spans_.push_back(std::move(span));
    } else {
      ++dropped_;
    }
  }
  const std::vector<Span>& spans() const { return spans_; }
  int64_t dropped() const { return dropped_; }

 private:
  std::vector<Span> spans_;
  int64_t dropped_ = 0;
};

}  // namespace ringlet
