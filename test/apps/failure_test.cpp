#include "apps/training/failure.h"

#include <vector>

#include "apps/training/faults.h"
#include "collectives/error.h"
#include "dist/sharded_checkpoint.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;

TEST_CASE("every kind of error has its exit code", "[failure]") {
  CHECK(exit_code_of(UsageError("x")) == ExitCode::Usage);
  CHECK(exit_code_of(DataError("x")) == ExitCode::Data);
  CHECK(exit_code_of(Error("x")) == ExitCode::Data);
  CHECK(exit_code_of(CheckpointError("x")) == ExitCode::Checkpoint);
  CHECK(exit_code_of(CommError({}, "x")) == ExitCode::Communication);
  CHECK(exit_code_of(BackendUnavailable("x")) == ExitCode::Unavailable);
  CHECK(exit_code_of(AgreedFailure(ExitCode::NonFinite, "x")) == ExitCode::NonFinite);
}

TEST_CASE("[I3] what fails on one rank fails on all, with the message of the lowest", "[failure]") {
  for (const std::vector<int>& failing : std::vector<std::vector<int>>{{}, {0}, {3}, {1, 2}, {0, 1, 2, 3}}) {
    std::vector<std::string> messages(4);
    test::run_ranks(4, [&](Communicator& world) {
      try {
        agree(world, [&] {
          if (std::find(failing.begin(), failing.end(), world.rank()) != failing.end()) {
            throw DataError("cannot read");
          }
        });
      } catch (const AgreedFailure& failure) {
        messages[static_cast<size_t>(world.rank())] = std::to_string(to_int(failure.exit_code())) + " " + failure.what();
      }
    });
    std::string expected;
    if (!failing.empty()) {
      expected = failing[0] == 0 ? "3 cannot read" : "3 rank " + std::to_string(failing[0]) + ": cannot read";
    }
    CHECK(messages == std::vector<std::string>(4, expected));
  }
}

TEST_CASE("a fault on purpose is spelled strictly", "[failure]") {
  const Fault fault = Fault::parse("nan-loss:rank=3:step=12");
  CHECK(fault.what == "nan-loss");
  CHECK(fault.rank == 3);
  CHECK(fault.step == 12);
  CHECK(Fault::parse("kill").rank == -1);
  for (const char* text : {"", "explode", "throw:3", "throw:rank", "throw:rank=", "throw:rank=x", "kill:rank=1x",
                           "kill:step=-1", "kill:step=99999999999"}) {
    CHECK_THROWS_AS(Fault::parse(text), UsageError);
  }
}
