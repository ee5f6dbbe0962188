// A kernel's result in every order in which the emulated GPU can run blocks and threads: the same bits, or a barrier is missing.
#pragma once

#include <cstring>
#include <vector>

#include "test/emulated_gpu/control.h"
#include "test/support/catch.h"

namespace ringlet::test {

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// `run` returns what a kernel wrote, a vector; it runs twice forward, then in reverse and shuffled.
template <typename Run>
auto in_every_order(Run&& run) {
  using emulated_gpu::Order;
  const auto result = run();
  for (const Order order : {Order::Forward, Order::Reverse, Order::Shuffled}) {
    emulated_gpu::set_order(order);
    const auto again = run();
    emulated_gpu::set_order(Order::Forward);
    INFO("order " << static_cast<int>(order));
    CHECK(same_bits(result, again));
  }
  return result;
}

}  // namespace ringlet::test
