// Collectives that go on while the rank computes.
#include <atomic>
#include <thread>

#include "collectives/communication_thread.h"
#include "collectives/error.h"
#include "test/support/catch.h"
#include "test/support/run_asynchronous.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr size_t kLarge = size_t{1} << 18;  // elements: worth a thread

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 10000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

}  // namespace

TEST_CASE("what is started makes progress though nobody waits", "[asynchronous]") {
  for (const int ranks : {2, 3}) {
    std::atomic<int> finished = 0;
    run_asynchronous(ranks, [&](Communicator& world) {
      std::vector<float> data(kLarge, static_cast<float>(world.rank() + 1));
      Work work = world.start_all_reduce(data, ReduceOp::Sum);
      const bool done = comes_true([&] { return work.done(); });
      work.wait();
      finished += done && data.front() == static_cast<float>(ranks * (ranks + 1) / 2) ? 1 : 0;
    });
    CHECK(finished == ranks);
  }
}

TEST_CASE("small and large, started and blocking, parts and the whole: all in the order of the program", "[asynchronous]") {
  std::atomic<int> right = 0;
  run_asynchronous(4, [&](Communicator& world) {
    const int r = world.rank();
    const std::unique_ptr<Communicator> pair = world.split(r / 2, r);
    std::vector<float> large(kLarge, 1.0F), small(3, 1.0F), blocking(5, 1.0F);
    for (int round = 0; round < 20; ++round) {
      Work first = world.start_all_reduce(large, ReduceOp::Avg);
      Work second = pair->start_all_reduce(small, ReduceOp::Sum);
      Work third = world.start_all_reduce(small, ReduceOp::Max);  // after `second`, on what it made
      world.all_reduce(blocking, ReduceOp::Avg);
      if (round % 2 == 0) {
        third.wait();
        first.wait();
      }
    }
    right += large.back() == 1.0F && small[0] == 1048576.0F && blocking[4] == 1.0F ? 1 : 0;
  });
  CHECK(right == 4);
}

TEST_CASE("the thread goes on with what is worth it after the rank has carried out what stood before", "[asynchronous]") {
  CommunicationThread thread;
  const auto small = thread.start([] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }, false);
  const auto large = thread.start([] {}, true);  // the thread comes, and finds the rank at work
  thread.finish(*small);
  CHECK(comes_true([&] { return thread.done(*large); }));
  thread.finish(*large);
}

TEST_CASE("a disagreement in what was started is told by wait, with the call", "[asynchronous]") {
  std::atomic<int> told = 0;
  run_asynchronous(3, [&](Communicator& world) {
    std::vector<float> data(kLarge + (world.rank() == 1 ? 1 : 0));
    Work work = world.start_all_reduce(data, ReduceOp::Sum);
    try {
      work.wait();
    } catch (const CommError& error) {
      const std::string text = error.what();
      told += text.find("all_reduce #1") == 0 && text.find("rank 1 differs in count") != std::string::npos ? 1 : 0;
    }
  });
  CHECK(told == 3);
}

TEST_CASE("messages and started collectives share a transport in turn", "[asynchronous]") {
  std::atomic<int> right = 0;
  run_asynchronous(2, [&](Communicator& world) {
    const int other = 1 - world.rank();
    std::vector<float> large(kLarge, 1.0F), inbox(4);
    const std::vector<float> letter(4, static_cast<float>(world.rank()));
    for (int i = 0; i < 20; ++i) {
      Work reducing = world.start_all_reduce(large, ReduceOp::Avg);
      Work receiving = world.start_recv(inbox, other);
      Work sending = world.start_send(letter, other);
      receiving.wait();
      sending.wait();
    }
    right += inbox[3] == static_cast<float>(other) ? 1 : 0;
  });
  CHECK(right == 2);
}
