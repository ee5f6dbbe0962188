#include "apps/training/guard.h"

#include "apps/training/failure.h"
#include "test/support/catch.h"

using namespace ringlet;
using Verdict = Guard::Verdict;

namespace {

StepResult found(double loss, bool finite = true) { return {.loss = loss, .grad_norm = 1.0, .tokens = 64, .finite = finite}; }

}  // namespace

TEST_CASE("a step that is not finite is skipped; more in a row than the retries end the run with exit code 6", "[guard]") {
  for (const int64_t retries : {0, 1, 3}) {
    Guard guard(retries);
    CHECK(guard.judge(1, found(2.0)) == Verdict::Accept);
    for (int64_t i = 0; i < retries; ++i) {
      CHECK(guard.judge(2 + i, found(0.0, false)) == Verdict::Skip);
    }
    try {
      guard.judge(2 + retries, found(0.0, false));
      FAIL("accepted");
    } catch (const AgreedFailure& failure) {
      CHECK(failure.exit_code() == ExitCode::NonFinite);
      CHECK_THAT(failure.what(), Catch::Matchers::Contains("--retries " + std::to_string(retries)));
    }
  }
}

TEST_CASE("an accepted step ends a row of skipped ones", "[guard]") {
  Guard guard(1);
  for (int64_t step = 1; step < 9; step += 2) {
    CHECK(guard.judge(step, found(0.0, false)) == Verdict::Skip);
    CHECK(guard.judge(step + 1, found(1.0)) == Verdict::Accept);
  }
  CHECK(guard.state().skipped == 4);
  CHECK(guard.state().skipped_in_a_row == 0);
}

TEST_CASE("a loss more than twice the last accepted one is a spike", "[guard]") {
  Guard guard(3);
  CHECK(guard.judge(1, found(100.0)) == Verdict::Accept);  // nothing to compare with
  CHECK(guard.judge(2, found(2.0)) == Verdict::Accept);
  CHECK(guard.judge(3, found(4.0)) == Verdict::Accept);  // exactly twice
  CHECK(guard.judge(4, found(1e9, false)) == Verdict::Skip);
  CHECK(guard.judge(5, found(8.1)) == Verdict::AcceptSpike);
  CHECK(guard.judge(6, found(8.0)) == Verdict::Accept);
}

TEST_CASE("a guard restored to a saved state decides as the first would have", "[guard]") {
  Guard first(1), second(1);
  first.judge(1, found(2.0));
  first.judge(2, found(0.0, false));
  second.restore(first.state());
  CHECK_THROWS_AS(second.judge(3, found(0.0, false)), AgreedFailure);
  second.restore(first.state());
  CHECK(second.judge(3, found(4.1)) == Verdict::AcceptSpike);
}
