// Parts of a group of one host have arenas of their own while there is room, and take turns with it.
#include <atomic>

#include "test/support/catch.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

bool sums(Communicator& part) {
  std::vector<float> data(70000, 1.0F);  // several segments
  part.all_reduce(data, ReduceOp::Sum);
  return data.front() == static_cast<float>(part.size()) && data.back() == data.front();
}

}  // namespace

TEST_CASE("a part talks through shared memory, and gives its room back", "[parts]") {
  std::atomic<int> right = 0;
  run_shared(4, [&](Communicator& world) {
    bool all = true;
    for (int round = 0; round < 30; ++round) {  // far more than there is room for at a time
      const std::unique_ptr<Communicator> part = world.split(world.rank() % 2, world.rank());
      all &= part->transport() == "shm" && sums(*part);
    }
    right += all ? 1 : 0;
  });
  CHECK(right == 4);
}

TEST_CASE("parts for which there is no room talk by messages", "[parts]") {
  std::atomic<int> right = 0, by_messages = 0;
  run_shared(2, [&](Communicator& world) {
    std::vector<std::unique_ptr<Communicator>> parts;
    bool all = true;
    for (int i = 0; i < 8; ++i) {
      parts.push_back(world.split(0, world.rank()));
      all &= sums(*parts.back());
      by_messages += parts.back()->transport() == "mailbox" ? 1 : 0;
    }
    right += all ? 1 : 0;
  });
  CHECK(right == 2);
  CHECK(by_messages > 0);
}
