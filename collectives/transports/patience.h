// How a rank waits for a phase: looks again, gives its core away, or sleeps.
//
// A look takes nanoseconds, a sleep and a wake many microseconds: so a rank looks for about as long as it would take to be woken, and
// loses at most twice the best. Two things spoil that rule.
//   One core.   A rank that looks at another which the scheduler has put on the same core only keeps it from running. The scheduler
//               leaves them there, since both have run a moment ago; so each says where it runs, and who waits for a late one of
//               the own core gives the core away. Where nobody late is here, giving it away would help a stranger for milliseconds.
//   In step.    Who is woken comes late by the time of a wake; if the waker has fallen asleep meanwhile, it must be woken in its
//               turn, and so on for ever. So a rank that has woken others looks longer than any wake takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ringlet {

class Patience {
 public:
  enum class Next : uint8_t { Look, Yield, Sleep };

  static constexpr int kLooks = 2'000;              // some 40 us, a wake
  static constexpr int kLooksAfterWaking = 20'000;  // a wake where the core has gone to sleep as well
  static constexpr int kLooksPerGlance = 10;        // a glance at where the others are costs several looks
  static constexpr int kYields = 20;                // then the late one has work to do

  /// The pause between two looks.
  static void look() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  /// This rank has woken others.
  void has_woken() { woken_ = true; }
  /// A wait begins, of which this many looks are known to be needed and a wake would only add to them.
  void begin(int expected = 0) {
    looks_ = yields_ = 0;
    expected_ = expected;
  }
  /// Looks in which another rank has read `bytes` from memory, at half the speed that it should; at most a millisecond.
  static int looks_to_read(size_t bytes) {
    constexpr size_t kBytesPerLook = 100, kAtMost = 50'000;
    return static_cast<int>(std::min(bytes / kBytesPerLook, kAtMost));
  }
  /// It is over: everybody is here.
  void end() { woken_ = false; }

  /// `late_one_here()` says whether one that has not come yet was on this core when it came last.
  template <typename LateOneHere>
  Next next(LateOneHere&& late_one_here) {
    ++looks_;
    if ((yields_ > 0 || looks_ % kLooksPerGlance == 0) && late_one_here()) {
      return ++yields_ <= kYields ? Next::Yield : Next::Sleep;
    }
    return looks_ < expected_ + (woken_ ? kLooksAfterWaking : kLooks) ? Next::Look : Next::Sleep;
  }

 private:
  int looks_ = 0, yields_ = 0, expected_ = 0;
  bool woken_ = false;
};

}  // namespace ringlet
