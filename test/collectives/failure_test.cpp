// What the others learn when a rank fails, leaves, disagrees or is late; and what a world is asked for that does not exist.
#include <cstdlib>

#include "collectives/factory.h"
#include "collectives/standing.h"
#include "test/collectives/other_message.h"
#include "test/support/catch.h"
#include "test/support/report.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

// What each rank was told, "" if nothing; the exception that run_ranks passes on is swallowed.
std::vector<std::string> told(int ranks, const std::function<void(Communicator&)>& body,
                              std::chrono::milliseconds deadline = std::chrono::seconds(20)) {
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  const auto listen = [&](Communicator& world) {
    try {
      body(world);
    } catch (const std::exception& error) {
      texts[static_cast<size_t>(world.rank())] = error.what();
      throw;
    }
  };
  CHECK_THROWS(run_ranks(ranks, listen, deadline));
  return texts;
}

}  // namespace

TEST_CASE("a rank that throws fails the others at once, and its own exception comes out", "[failure]") {
  for (const int ranks : {2, 3, 4, 8}) {
    const auto started = std::chrono::steady_clock::now();
    const auto body = [](Communicator& world) {
      world.barrier();
      if (world.rank() == 1) {
        throw DataError("corpus: missing");
      }
      std::vector<float> data(100000);
      world.all_reduce(data, ReduceOp::Sum);
    };
    CHECK_THROWS_AS(run_ranks(ranks, body), DataError);
    CHECK_THROWS_WITH(run_ranks(ranks, body), "corpus: missing");
    const std::string text = told(ranks, body)[0];  // rank 0 may still have been in the barrier
    INFO(text);
    CHECK((text.find("all_reduce #2 on rank 0") == 0 || text.find("barrier #1 on rank 0") == 0));
    CHECK(text.find("(world), peer 1: world rank 1 failed: corpus: missing") != std::string::npos);
    CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(10));
  }
}

TEST_CASE("an error names rank, peer, operation and sequence number as fields", "[failure]") {
  const auto body = [](Communicator& world) {
    if (world.rank() == 2) {
      throw Error("injected");
    }
    const std::vector<int32_t> data;
    world.all_gather(data, Buffer(nullptr, 0, DType::I32));  // counts, though nothing moves
    try {
      world.barrier();
    } catch (const CommError& error) {
      const bool right =
          error.rank() == world.rank() && error.peer() == 2 && error.operation() == "barrier" && error.sequence() == 2;
      throw std::runtime_error(right ? "right" : error.what());
    }
  };
  const std::vector<std::string> texts = told(3, body);
  CHECK(texts[0] == "right");
  CHECK(texts[1] == "right");
}

TEST_CASE("who waits for a rank that has gone home is told", "[failure]") {
  const std::vector<std::string> texts = told(2, [](Communicator& world) {
    if (world.rank() == 0) {
      world.barrier();
    }
  });
  const std::string start =
      "barrier #1 on rank 0 of 2 (world), peer 1: all ranks must make the same call, but rank 1 differs in operation: "
      "got leaves after #0 there, barrier #1 on rank 0";
  CHECK(texts[0].substr(0, start.size()) == start);
}

TEST_CASE("a wait ends at its deadline and says for whom", "[failure]") {
  std::vector<std::string> texts = told(
      2,
      [](Communicator& world) {
        std::vector<float> data(3);
        if (world.rank() == 0) {
          world.recv(data, 1, 4);
        } else {
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
      },
      std::chrono::milliseconds(50));
  const std::string start = "recv #1 on rank 0 of 2 (world), peer 1: world rank 1 sent nothing within the deadline of 50 ms\n";
  CHECK(texts[0].substr(0, start.size()) == start);
}

TEST_CASE("counts that differ are an error on both sides, never a wrong tail [H6]", "[failure]") {
  for (const int ranks : {2, 3, 4}) {
    const std::vector<std::string> texts = told(ranks, [](Communicator& world) {
      std::vector<float> data(world.rank() == 0 ? 5 : 4);
      world.all_reduce(data, ReduceOp::Sum);
    });
    for (const std::string& text : texts) {
      INFO(text);
      CHECK(text.find("differ") < text.find(" in count: got all_reduce #1 of 5 f32, sum "));
      CHECK(text.find("all_reduce #1 of 4 f32, sum on rank") != std::string::npos);
    }
  }
}

TEST_CASE("a part of all_to_all_v that its receiver does not expect is told to all at once, over shared memory", "[failure]") {
  std::vector<std::string> texts(3);
  run_shared(3, [&](Communicator& world) {
    std::vector<int64_t> to(3, 10), from(3, 10);
    to[1] -= world.rank() == 0 ? 1 : 0;
    std::vector<float> in(world.rank() == 0 ? 29 : 30), out(30);
    try {
      world.all_to_all_v(in, to, out, from);
    } catch (const CommError& error) {
      texts[static_cast<size_t>(world.rank())] = error.what();
    }
    world.barrier();  // nobody has been left behind
  });
  for (int r = 0; r < 3; ++r) {
    CHECK(texts[static_cast<size_t>(r)] ==
          message("all_to_all_v #1 on rank {} of 3 (world), peer 0: a part must have the size that its receiver expects, got 9 "
                  "elements from rank 0 where rank 1 expects 10",
                  r));
  }
}

TEST_CASE("a message of another size or dtype is refused before anything is written", "[failure]") {
  for (const auto& run : {run_ranks, run_shared}) {
    for (const OtherMessage& one : other_messages()) {
      std::vector<Report> reports(3);
      try {
        run(
            3, [&](Communicator& world) { send_another_message(world, one, reports[static_cast<size_t>(world.rank())]); },
            std::chrono::seconds(20));
      } catch (const CommError&) {  // the end of a group is another call
      }
      CHECK(reports[1].checks() == 4);
      CHECK(reports[1].failures() == std::vector<std::string>());
    }
  }
}

TEST_CASE("who waits for a message is told of its sender, whatever the others do", "[failure]") {
  using State = Standing::State;
  const Fingerprint first{.sequence = 1}, second{.sequence = 2}, end = leaving_after(1, 0);
  for (const State own : {State::Outside, State::InMessage}) {
    for (const auto& others : {Standing{State::Left, end}, Standing{State::InCall, second}, Standing{State::Outside, first}}) {
      const CommError error = disagreement(1, 2, "rank 2 sent nothing", std::vector{others, Standing{own, first}, others});
      CHECK(error.peer() == 2);
      CHECK(error.reason().find("rank 2 sent nothing\n") == 0);
    }
  }
  const std::vector<Standing> all{{State::InCall, second}, {State::InMessage, first}, {State::InCall, second}};
  CHECK(disagreement(0, -1, "", all).peer() == 1);
  CHECK(disagreement(0, -1, "", all).reason().find("rank 1 has not come") == 0);
}

TEST_CASE("the group of an error is named", "[failure]") {
  const std::vector<std::string> texts = told(4, [](Communicator& world) {
    const std::unique_ptr<Communicator> pair = world.split(world.rank() / 2, 0);
    pair->barrier();
    if (world.rank() == 3) {
      throw Error("injected");
    }
    pair->barrier();
    world.barrier();
  });
  INFO(texts[2]);
  CHECK(texts[2].find(" on rank 0 of 2 (world/1), peer 1: world rank 3 failed: injected") != std::string::npos);
}

TEST_CASE("a split that fails says so", "[failure]") {
  const std::vector<std::string> texts = told(2, [](Communicator& world) {
    if (world.rank() == 0) {
      world.split(0, 0);
    }
  });
  CHECK(texts[0].find("split #1 on rank 0 of 2 (world), peer 1: all ranks must make the same call, but rank 1 differs in "
                      "operation: got leaves after #0") == 0);
}

TEST_CASE("the deadline is 60 s, or what the environment says", "[factory]") {
  const auto with = [](const char* text) {
    setenv("RINGLET_COMM_TIMEOUT", text, 1);
    return default_deadline();
  };
  CHECK(with("") == std::chrono::seconds(60));
  CHECK(with("2") == std::chrono::seconds(2));
  CHECK(with("0.25") == std::chrono::milliseconds(250));
  for (const char* bad : {"0", "-1", "2s", "abc", "nan", "1e99", " 2"}) {
    INFO(bad);
    CHECK_THROWS_WITH(with(bad), Catch::Contains("RINGLET_COMM_TIMEOUT: must be seconds"));
  }
  unsetenv("RINGLET_COMM_TIMEOUT");
  CHECK(WorldOptions().deadline == std::chrono::seconds(60));
}

TEST_CASE("a world that does not exist is refused by name", "[factory]") {
  CHECK(make_world("local")->size() == 1);
  CHECK(make_world("local")->name() == "local");
  CHECK_THROWS_WITH(make_world("gloo"), "backend: must be one of local, mpi, nccl, got 'gloo'");
  CHECK_THROWS_AS(make_world("nccl"), BackendUnavailable);
}
