// A line of memory thrown between cores: a time comes of it, and nobody waits for who does not play.
#include "collectives/transports/handover.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "collectives/transports/process.h"
#include "test/support/catch.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

TEST_CASE("all ranks know how long a line takes to another core and back", "[handover]") {
  if (cores_of_this_process() < 2) {
    WARN("one core");
    return;
  }
  double ns = 0;
  for (int attempt = 0; attempt < 200 && ns == 0; ++attempt) {  // others may want the cores
    const SharedArena arena = plain_arena(2);
    std::thread other([&] { measure_handover(arena, 1, 2); });
    measure_handover(arena, 0, 2);
    other.join();
    ns = arena.head().handover_ns.load();
  }
  CHECK(ns > 1);
  CHECK(ns < 10'000);
}

TEST_CASE("a wait for a core is not taken for a long way", "[handover]") {
  const SharedArena arena = plain_arena(2);
  std::atomic<uint32_t>& ball = arena.head().ball.value;
  std::thread away([&] {  // throws back after a millisecond
    for (uint32_t seen = 0; seen != UINT32_MAX; seen = ball.load()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (seen % 2 == 1) {
        ball.compare_exchange_strong(seen, seen + 1);
      }
    }
  });
  measure_handover(arena, 0, 2);
  away.join();
  CHECK(arena.head().handover_ns.load() == 0);
}

TEST_CASE("a rank that does not throw the ball back is not waited for", "[handover]") {
  const SharedArena arena = plain_arena(2);
  const auto start = std::chrono::steady_clock::now();
  measure_handover(arena, 0, 2);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
  CHECK(arena.head().handover_ns.load() == 0);
}

TEST_CASE("a rank that comes when the ball has been put away does not wait for it", "[handover]") {
  const SharedArena arena = plain_arena(3);
  measure_handover(arena, 0, 3);
  for (const int late : {1, 2}) {
    const auto start = std::chrono::steady_clock::now();
    measure_handover(arena, late, 3);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500));  // its patience is a second
  }
}
