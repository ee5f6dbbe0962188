// Waiting for another thread, and looking again every 50 ms: a wake-up can get lost in glibc before 2.41 (bug 25847), and a test that
// hangs says nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ringlet::emulated_gpu {

/// Returns with `lock` held when `condition` is true; who makes it true notifies `changed`.
template <typename Condition>
void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, Condition&& condition) {
  constexpr std::chrono::milliseconds kLookAgain(50);
  while (!changed.wait_for(lock, kLookAgain, condition)) {
  }
}

}  // namespace ringlet::emulated_gpu
