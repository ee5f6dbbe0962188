// Ranks as threads: a test of P ranks in one process, without a launcher.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/backends/p2p.h"
#include "collectives/communicator.h"
#include "collectives/error.h"
#include "collectives/transports/thread_mailbox.h"
#include "tensor/base/allocator.h"

namespace ringlet::test {

/// Calls `body(world)` on P threads, each with its own communicator and its own allocator, and returns when all are done.
/// A rank that throws fails the others at once (they get CommError); the first *original* exception is rethrown here, in
/// the calling thread. A rank that waits longer than `deadline` gets a CommError.
/// Inside `body` do not use REQUIRE: Catch2 assertions are not thread-safe. Collect results per rank and assert afterwards.
inline void run_ranks(int size, const std::function<void(Communicator&)>& body,
                      std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  const auto hub = std::make_shared<MailboxHub>(size, deadline);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const AllocatorScope scope(std::make_shared<Allocator>());
      try {
        const std::unique_ptr<Communicator> world = make_p2p(hub->join(rank), "threads");
        body(*world);
        hub->leave(rank, "");
      } catch (const std::exception& error) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
        hub->leave(rank, error.what());
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
        hub->leave(rank, "an exception that is not a std::exception");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (const int first = hub->first_failed(); first >= 0) {
    std::rethrow_exception(errors[static_cast<size_t>(first)]);
  }
}

}  // namespace ringlet::test
