#include "apps/training/guard.h"

#include <cmath>

#include "apps/training/failure.h"
#include "dist/sharded_checkpoint.h"
#include "test/support/catch.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

StepResult found(double loss, bool finite = true) { return {.loss = loss, .grad_norm = 1.0, .tokens = 64, .finite = finite}; }

}  // namespace

TEST_CASE("not finite is refused whatever the loss; a spike is a loss more than twice the last accepted one", "[guard]") {
  Guard guard({});
  CHECK(guard.objection(1, found(100.0)).empty());  // nothing to compare with
  CHECK(guard.objection(2, found(2.0)).empty());
  CHECK(guard.objection(3, found(4.0)).empty());  // exactly twice
  CHECK_THAT(guard.objection(4, found(1e9, false)), Contains("must be finite"));
  CHECK_THAT(guard.objection(4, found(8.1)), Contains("the loss 8.1 is more than twice that of the step before, 4"));
  CHECK(guard.objection(4, found(8.0)).empty());
  Guard learnt({});  // what is left is rounding
  CHECK(learnt.objection(1, found(1e-8)).empty());
  CHECK(learnt.objection(2, found(9e-4)).empty());
  CHECK(!learnt.objection(3, found(2e-3)).empty());
  Guard off({.on = false});
  CHECK(off.objection(1, found(1.0)).empty());
  CHECK(off.objection(2, found(1e9)).empty());
  CHECK(!off.objection(3, found(1.0, false)).empty());
}

TEST_CASE("by z-score a spike stands out of the running mean by so many deviations, once 20 losses are known", "[guard]") {
  Guard guard({.spike_z_score = 4.0});
  CHECK(guard.objection(1, found(1.0)).empty());
  for (int64_t step = 2; step <= 20; ++step) {
    CHECK(guard.objection(step, found(step % 2 == 0 ? 1.1 : 0.9)).empty());
  }
  CHECK(guard.state().mean == Approx(1.0).margin(0.02));
  CHECK(std::sqrt(guard.state().variance) == Approx(0.1).margin(0.03));
  CHECK_THAT(guard.objection(21, found(1.6)), Contains("deviations above the running mean"));
  CHECK(guard.objection(21, found(1.2)).empty());
  CHECK(guard.objection(22, found(0.01)).empty());  // a fall is no spike
}

TEST_CASE("more rollbacks in a row than the retries end the run with exit code 6; getting past the step ends the row",
          "[guard]") {
  for (const int64_t retries : {0, 1, 3}) {
    Guard guard({.retries = retries});
    for (int64_t i = 0; i < retries; ++i) {
      guard.refuse({.step = 2, .batch = 2 + i, .reason = "x"});
      CHECK(guard.objection(1, found(1.0)).empty());  // a repeated step before it ends no row
      CHECK(guard.state().rollbacks_in_a_row == i + 1);
    }
    try {
      guard.refuse({.step = 2, .batch = 9, .reason = "why"});
      FAIL("accepted");
    } catch (const AgreedFailure& failure) {
      CHECK(failure.exit_code() == ExitCode::NonFinite);
      CHECK_THAT(failure.what(), Contains("step 2, batch 9: why") && Contains("--retries " + std::to_string(retries)));
    }
    CHECK(guard.objection(3, found(1.0)).empty());
    CHECK(guard.state().rollbacks_in_a_row == 0);
  }
  Guard off({.on = false});
  CHECK_THROWS_AS(off.refuse({.step = 1, .batch = 1, .reason = "x"}), AgreedFailure);
}

TEST_CASE("step k trains on the k-th batch that is not skipped, in whatever order they were found", "[guard]") {
  Guard guard({.retries = 9});
  for (const int64_t batch : {7, 3, 4}) {
    guard.refuse({.step = batch, .batch = batch, .reason = "x"});
  }
  std::vector<int64_t> batches;
  for (int64_t step = 1; step <= 6; ++step) {
    batches.push_back(guard.batch_of(step));
  }
  CHECK(batches == std::vector<int64_t>{1, 2, 5, 6, 8, 9});
}

TEST_CASE("a guard's state goes through a manifest unchanged, and is refused when a part is missing or no number", "[guard]") {
  GuardState state = {.last_loss = 0.1,
                      .mean = 1.0 / 3,
                      .variance = 1e-300,
                      .seen = 7,
                      .rollbacks = 3,
                      .rollbacks_in_a_row = 2,
                      .furthest_refused = 12,
                      .skipped = {3, 5, 1000}};
  CHECK(guard_state_in(to_meta(state)) == state);
  CHECK(std::isnan(guard_state_in(to_meta(GuardState{})).last_loss));
  for (const auto& [key, text] : to_meta(state)) {
    auto meta = to_meta(state);
    meta.erase(key);
    CHECK_THROWS_AS(guard_state_in(meta), CheckpointError);
    meta[key] = "x";
    CHECK_THROWS_AS(guard_state_in(meta), CheckpointError);
    meta[key] = "-1";
    CHECK_THROWS_AS(guard_state_in(meta), CheckpointError);
  }
}
