// Ranks as threads that do not make the same call: every kind, at 2, 3, 4 and 8 ranks [H6].
#include "test/collectives/disagreement.h"

#include <atomic>
#include <csignal>

#include "collectives/transports/shared_phases.h"
#include "test/support/catch.h"
#include "test/support/fork_ranks.h"
#include "test/support/full.h"
#include "test/support/run_ranks.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

using Clock = std::chrono::steady_clock;

// What each rank was told; ranks that were told something fail, as a program's would.
using Runner = void (*)(int, const std::function<void(Communicator&)>&, std::chrono::milliseconds);

std::vector<std::string> tell(int ranks, const std::function<std::string(Communicator&)>& body,
                              std::chrono::milliseconds deadline = std::chrono::seconds(20), Runner run = run_ranks) {
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  try {
    run(
        ranks,
        [&](Communicator& world) {
          std::string& text = texts[static_cast<size_t>(world.rank())];
          text = body(world);
          check(text.empty(), "{}", text);
        },
        deadline);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the first of the texts
  }
  return texts;
}

void require_clean(const Report& report) {
  for (const std::string& failure : report.failures()) {
    UNSCOPED_INFO(failure);
  }
  CHECK(report.failures().empty());
}

// Every kind at every number of ranks, `rounds` times, each time with another odd rank. `tell_all` is what all ranks were told.
template <typename Tell>
void require_reports(int rounds, Tell&& tell_all) {
  for (const Disagreement& kind : disagreements()) {
    for (const int ranks : {2, 3, 4, 8}) {
      if (kind.needs_time() && !kFull && ranks != 3) {
        continue;
      }
      for (int round = 1; round <= rounds; ++round) {
        const int odd_rank = (ranks - round % ranks) % ranks;
        const auto started = Clock::now();
        const auto texts = tell_all(ranks, kind, odd_rank);
        Report report(message("{}: ", kind.name));
        for (int rank = 0; rank < ranks; ++rank) {
          expect_report(report, texts[static_cast<size_t>(rank)], kind, rank, ranks, odd_rank);
        }
        report.expect(Clock::now() - started < std::chrono::seconds(5), "took longer than 5 s");
        require_clean(report);
      }
    }
  }
}

template <Runner run>
std::vector<std::string> tell_threads(int ranks, const Disagreement& kind, int odd_rank) {
  return tell(
      ranks, [&](Communicator& world) { return told_by(world, kind, odd_rank); }, kind.deadline(), run);
}

}  // namespace

// 200 of each kind in all with RINGLET_FULL: 17 rounds at four numbers of ranks on three transports.
TEST_CASE("ranks that disagree are told in what, and who is the odd one out [H6]", "[disagreement]") {
  require_reports(times(1, 17), tell_threads<run_ranks>);
}
TEST_CASE("ranks that disagree over shared memory are told the same [H6]", "[disagreement]") {
  require_reports(times(1, 17), tell_threads<run_shared>);
}
TEST_CASE("and so are ranks that are processes [H6]", "[disagreement]") {
  require_reports(times(1, 17), [](int ranks, const Disagreement& kind, int odd_rank) {
    return fork_ranks(
        ranks, [&](Communicator& world) { return told_by(world, kind, odd_rank); }, kind.deadline());
  });
}

TEST_CASE("a process that never starts is named at the deadline, one that is killed within a second", "[disagreement]") {
  for (const int ranks : {2, times(4, 8)}) {
    INFO(ranks << " ranks");
    const int odd_rank = ranks / 2;
    const auto first_call = [](Communicator& world) -> std::string {
      sum_of_four(world);
      return "";
    };
    const auto absent =
        fork_ranks(ranks, first_call, std::chrono::milliseconds(1000), [=](int rank) { return rank != odd_rank; });
    const auto started = Clock::now();
    const auto dead = fork_ranks(
        ranks,
        [&](Communicator& world) {
          world.barrier();
          if (world.rank() == odd_rank) {
            raise(SIGKILL);
          }
          return first_call(world);
        },
        std::chrono::seconds(20));
    CHECK(Clock::now() - started < std::chrono::seconds(5));
    CHECK(dead[static_cast<size_t>(odd_rank)] == "killed");
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == odd_rank) {
        continue;
      }
      const std::string who = message(" on rank {} of {} (world), peer {}: rank {} ", rank, ranks, odd_rank, odd_rank);
      const std::string &late = absent[static_cast<size_t>(rank)], &loss = dead[static_cast<size_t>(rank)];
      INFO(late << "\n" << loss);
      CHECK(late.find("all_reduce #1" + who + "has not come") == 0);
      CHECK(loss.find("all_reduce #2" + who + "is dead") == 0);
    }
  }
}

TEST_CASE("a rank that does not come is named at the deadline, and one that fails at once", "[disagreement]") {
  for (const Runner run : {Runner(run_ranks), Runner(run_shared)}) {
    for (const bool fails : {false, true}) {
      std::atomic<int> met = 0, ended = 0;  // of the two others
      const auto body = [fails, &met, &ended](Communicator& world) -> std::string {
        world.barrier();
        if (world.rank() == 1) {
          for (int i = 0; i < 2000 && met < 2; ++i) {  // who is still in the barrier would hear of it there
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          check(!fails, "injected");
          for (int i = 0; i < 2000 && ended < 2; ++i) {  // it neither comes nor leaves while they wait for it
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
          return "";
        }
        ++met;
        std::string text;
        try {
          sum_of_four(world);
        } catch (const CommError& error) {
          text = error.what();
        }
        ++ended;
        return text;
      };
      const auto texts = tell(3, body, std::chrono::milliseconds(fails ? 20000 : 1500), run);  // the barrier must be met
      INFO(texts[0]);
      CHECK(texts[0].find("all_reduce #2 on rank 0 of 3 (world), peer 1: ") == 0);
      CHECK(texts[0].find(fails ? "rank 1" : "deadline") != std::string::npos);
    }
  }
}

TEST_CASE("calls of different groups end at the deadline, with who waits where [H6]", "[disagreement]") {
  const auto body = [](Communicator& world) -> std::string {
    const std::unique_ptr<Communicator> pair = world.split(world.rank() / 2, 0);
    try {
      world.rank() == 0 ? pair->barrier() : world.barrier();
    } catch (const CommError& error) {
      return error.what();
    }
    return "";
  };
  for (const std::string& text : tell(4, body, std::chrono::milliseconds(200))) {
    INFO(text);
    CHECK(text.find("barrier #") == 0);
  }
}

TEST_CASE("a group that has disagreed stays unusable", "[disagreement]") {
  const auto texts = tell(3, [](Communicator& world) {
    told_by(world, disagreements().front(), 2);
    try {
      sum_of_four(world);
    } catch (const CommError& error) {
      return std::string(error.what());
    }
    return std::string();
  });
  for (const std::string& text : texts) {
    INFO(text);
    CHECK(text.find("all_reduce #4 on rank ") == 0);
  }
}

TEST_CASE("whose call is the odd one does not matter", "[disagreement]") {
  for (int odd_rank = 0; odd_rank < 4; ++odd_rank) {
    const Disagreement& kind = disagreements()[3];
    const auto texts = tell(4, [&](Communicator& world) { return told_by(world, kind, odd_rank); });
    Report report(message("odd rank {}: ", odd_rank));
    for (int rank = 0; rank < 4; ++rank) {
      expect_report(report, texts[static_cast<size_t>(rank)], kind, rank, 4, odd_rank);
    }
    require_clean(report);
  }
}

// As when the last call of a rank is over but it has not run since: stopped, or without a core.
TEST_CASE("a rank that has not run since the last call is late, and differs in nothing", "[disagreement]") {
  const SharedArena arena = plain_arena(2);
  const Fingerprint past{.sequence = 4, .operation = Operation::Barrier}, now{.sequence = 5, .operation = Operation::Barrier};
  arena.seat(1).stand({Standing::State::InCall, past, {}});
  SharedPhases phases(arena, 0, 2, std::chrono::milliseconds(150));
  phases.announce(now, {});
  std::string text;
  try {
    phases.meet();
  } catch (const CommError& error) {
    text = error.what();
  }
  CHECK(text.find("rank 1 has not come") != std::string::npos);
  CHECK(text.find("must make the same call") == std::string::npos);
}

TEST_CASE("a rank that stops on its way through a call is named", "[disagreement]") {
  const SharedArena arena = plain_arena(3);
  std::vector<std::unique_ptr<SharedPhases>> ranks;
  for (int r = 0; r < 3; ++r) {
    ranks.push_back(std::make_unique<SharedPhases>(arena, r, 3, std::chrono::milliseconds(r == 0 ? 50 : 5000)));
    ranks.back()->announce({.sequence = 1}, {});
  }
  for (const auto& one : ranks) {
    one->arrive();
  }
  ranks[1]->arrive();
  CHECK_THROWS_WITH(ranks[0]->meet(), Catch::Matchers::Contains("rank 2 has not come within the deadline of 50 ms"));
}
