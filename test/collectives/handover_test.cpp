// A line of memory thrown between cores: a time comes of it, and nobody waits for who does not play.
#include "collectives/transports/handover.h"

#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "test/support/catch.h"

using namespace ringlet;  // NOLINT(google-build-using-namespace)

namespace {

SharedArena arena_of(int ranks) {
  constexpr std::align_val_t kPage{4096};
  const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(::operator new(SharedArena::world_bytes(ranks), kPage)),
                                          [](std::byte* block) { ::operator delete(block, kPage); });
  SharedArena arena(memory, ranks, [] { return true; });
  arena.prepare();
  return arena;
}

}  // namespace

TEST_CASE("all ranks know how long a line takes to another core and back", "[handover]") {
  for (const int ranks : {2, 3}) {
    const SharedArena arena = arena_of(ranks);
    std::vector<std::thread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] { measure_handover(arena, r, ranks); });
    }
    for (std::thread& one : threads) {
      one.join();
    }
    const double ns = arena.head().handover_ns.load();
    INFO(ranks << " ranks, " << ns << " ns");
    CHECK(ns > 1);
    CHECK(ns < 2e7);  // the limit, and a core that was taken away
  }
}

TEST_CASE("a rank that does not throw the ball back is not waited for", "[handover]") {
  const SharedArena arena = arena_of(2);
  const auto start = std::chrono::steady_clock::now();
  measure_handover(arena, 0, 2);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK(arena.head().handover_ns.load() > 0);
}

TEST_CASE("a rank that comes when the ball has been put away does not wait for it", "[handover]") {
  const SharedArena arena = arena_of(3);
  measure_handover(arena, 0, 3);
  for (const int late : {1, 2}) {
    const auto start = std::chrono::steady_clock::now();
    measure_handover(arena, late, 3);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));  // its patience is a second
  }
}
