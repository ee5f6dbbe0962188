// Sleeping until a word of shared memory changes, between threads or processes (Linux futex).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace ringlet {

/// Sleeps while `word` is `seen`, at most `limit`. May return early.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds limit);
/// Wakes at most `sleepers` of those who wait for `word`.
void futex_wake(const std::atomic<uint32_t>& word, int sleepers);

}  // namespace ringlet
