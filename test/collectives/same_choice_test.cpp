// What carries the calls must be chosen alike: all ranks hear of one that chose otherwise, and who it is.
#include "collectives/backends/same_choice.h"

#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

// What each rank is told when they choose so; "" where nothing is wrong.
std::vector<std::string> told(const std::vector<std::string>& choices) {
  const int ranks = static_cast<int>(choices.size());
  const auto hub = std::make_shared<MailboxHub>(ranks, std::chrono::seconds(20));
  std::vector<std::string> reasons(choices.size());
  run_ranks(ranks, [&](Communicator& outer) {
    const auto rank = static_cast<size_t>(outer.rank());
    const std::unique_ptr<PointToPoint> net = hub->join(outer.rank());
    try {
      require_same_choice(*net, choices[rank]);
    } catch (const CommError& error) {
      reasons[rank] = message("peer {}: {}", error.peer(), error.reason());
    }
  });
  return reasons;
}

}  // namespace

TEST_CASE("[H1] a rank that chose otherwise is named on all ranks, with the line that differs", "[disagreement]") {
  for (const int ranks : {2, 3, 4, 5, 8}) {
    std::vector<std::string> choices(static_cast<size_t>(ranks), "transport mpi\nalgorithm auto\narena bytes 0");
    CHECK(told(choices) == std::vector<std::string>(choices.size(), ""));

    choices.back() = "transport mpi\nalgorithm ring\narena bytes 0";
    const std::string reason =
        message("peer {}: ranks must choose alike, got 'algorithm ring' on rank {} where rank 0 has 'algorithm auto'",
                ranks - 1, ranks - 1);
    CHECK(told(choices) == std::vector<std::string>(choices.size(), reason));
  }
  CHECK(told({"a 1\nb 2", "a 1", "a 1"}).front() ==
        "peer 0: ranks must choose alike, got 'b 2' on rank 0 where rank 1 has 'a 1'");
}
