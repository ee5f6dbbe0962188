// A kernel's result in every order in which the emulated GPU can run blocks and threads: the same bits, or a barrier is missing. On a
// real GPU, which has an order of its own, the kernel runs twice.
#pragma once

#include <cstring>
#include <vector>

#include "tensor/kernels/cuda/launch.h"
#include "test/support/catch.h"
#ifdef RINGLET_EMULATED_GPU
#include "test/emulated_gpu/control.h"
#endif

namespace ringlet::test {

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// `run` returns what a kernel wrote, a vector; it runs twice forward, then in reverse and shuffled.
template <typename Run>
auto in_every_order(Run&& run) {
  const auto result = run();
#ifdef RINGLET_EMULATED_GPU
  using emulated_gpu::Order;
  const bool looks = emulated_gpu::set_racecheck(false);  // an order more shows no other race
  for (const Order order : {Order::Forward, Order::Reverse, Order::Shuffled}) {
    emulated_gpu::set_order(order);
    const auto again = run();
    emulated_gpu::set_order(Order::Forward);
    INFO("order " << static_cast<int>(order));
    CHECK(same_bits(result, again));
  }
  emulated_gpu::set_racecheck(looks);
#else
  CHECK(same_bits(result, run()));
#endif
  return result;
}

}  // namespace ringlet::test
