#include "apps/training/guard.h"

#include "apps/training/checkpoint_saver.h"
#include "apps/training/exercise.h"
#include "apps/training/failure.h"
#include "apps/training/rollback.h"
#include "dist/sharded_checkpoint.h"
#include "test/apps/scratch_file.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

StepResult found(double loss, bool finite = true) { return {.loss = loss, .grad_norm = 1.0, .tokens = 64, .finite = finite}; }

// What a run ends with that saves every 5 steps, and where it went back to on the way.
struct Ran {
  std::vector<StepRecord> steps;
  std::vector<int64_t> back_to;
  GuardState guard;
  std::string failure;
};

class Backwards final : public Observer {
 public:
  void on_step(const StepRecord& /*record*/) override {}
  void on_rollback(int64_t step) override { steps.push_back(step); }
  std::vector<int64_t> steps;
};

// Poisons a moment after step `at` on the rank that holds it, once: nothing that the loss or the gradient could show.
class PoisonedMoment final : public Observer {
 public:
  PoisonedMoment(TrainingRun& run, int64_t at) : run_(run), at_(at) {}
  void on_step(const StepRecord& record) override {
    if (record.step == at_) {
      at_ = 0;
      Tensor moment = run_.parallel().state().back().data;
      if (moment.numel() > 0) {
        moment.mutable_span<float>()[0] = std::numeric_limits<float>::infinity();
      }
    }
  }

 private:
  TrainingRun& run_;
  int64_t at_;
};

Ran ran(const TrainConfig& wanted, int P, int64_t poison_at = 0, bool behind = false) {
  const test::ScratchFolder folder;
  Ran result;
  test::run_ranks(P, [&](Communicator& world) {
    TrainConfig config = wanted;
    config.checkpoint_every = config.checkpoint_every < 0 ? 5 : config.checkpoint_every;
    config.checkpoint_behind = behind;
    const TrainingData data = read_training_data(config, world);
    TrainingRun run(config, data, world);
    const Printer printer(config, 1);  // says nothing
    const StopSignal stop(false);
    History history(config.steps);
    Backwards backwards;
    Exercise exercise(config, world);
    PoisonedMoment poison(run, poison_at);
    CheckpointSaver saver(run, saver_options(config, folder.path(), save_schedule(config, 0), false), stop, printer, world);
    Observers observers({&history, &backwards, &exercise, &poison, &saver});
    Rollback recovery(run, saver, "", observers, printer, world);
    std::string failure;
    try {
      run.train_until(config.steps, observers, &recovery);
      saver.settle();
    } catch (const AgreedFailure& agreed) {
      failure = message("{}: {}", to_int(agreed.exit_code()), agreed.what());
    }
    if (world.rank() == P - 1) {
      result = {history.records(), backwards.steps, run.guard_state(), failure};
    }
  });
  return result;
}

}  // namespace

TEST_CASE("not finite is refused whatever the loss; a spike is a loss more than twice the last accepted one", "[guard]") {
  Guard guard({});
  CHECK(guard.objection(1, found(100.0)).empty());  // nothing to compare with
  CHECK(guard.objection(2, found(2.0)).empty());
  CHECK(guard.objection(3, found(4.0)).empty());  // exactly twice
  CHECK_THAT(guard.objection(4, found(1e9, false)), Contains("must be finite"));
  CHECK_THAT(guard.objection(4, found(8.1)), Contains("the loss 8.1 is more than twice that of the step before, 4"));
  CHECK(guard.objection(4, found(8.0)).empty());
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

TEST_CASE(
    "[M1] a NaN on one rank sends all back to the last checkpoint, or the beginning; the rest is as if its batch were not "
    "there",
    "[guard]") {
  TrainConfig config;
  config.steps = 12;
  config.model.dropout = 0.1;
  const Ran undisturbed = ran(config, 2);
  for (const bool behind : {false, true}) {
    for (const char* strategy : {"zero1", "ddp"}) {
      for (const auto& [at, back] : {std::pair<int64_t, int64_t>{3, 0}, {8, 5}, {11, 10}}) {
        config.strategy = strategy;
        config.nan_at = at;
        config.nan_rank = 1;
        const Ran run = ran(config, 2, 0, behind);
        CAPTURE(at, strategy, behind);
        CHECK(run.failure.empty());
        CHECK(run.back_to == std::vector<int64_t>{back});
        CHECK(run.guard.skipped == std::vector<int64_t>{at});
        REQUIRE(run.steps.size() == 12);
        for (size_t i = 0; i < 12; ++i) {
          CHECK(run.steps[i].replicas_equal);
          CHECK(run.steps[i].step == static_cast<int64_t>(i) + 1);
          CHECK(run.steps[i].batch == run.steps[i].step + (run.steps[i].step >= at ? 1 : 0));
          CHECK((run.steps[i].step >= at || run.steps[i].param_hash == undisturbed.steps[i].param_hash));
        }
      }
    }
  }
}

TEST_CASE("a spike of the learning rate is undone: the run goes on as if the spike had not been", "[guard]") {
  TrainConfig config;
  config.steps = 12;
  config.spike_at = 7;
  const Ran run = ran(config, 2);
  CHECK(run.back_to == std::vector<int64_t>{5});
  CHECK(run.guard.skipped == std::vector<int64_t>{8});  // where the loss showed it
  REQUIRE(run.steps.size() == 12);
  for (const StepRecord& record : run.steps) {
    CHECK(record.lr == config.schedule.lr);
  }
  config.guard.on = false;
  CHECK(ran(config, 2).back_to.empty());
  config.guard = {};
  config.spike_lr_multiplier = 1.5;
  CHECK(ran(config, 2).back_to.empty());
}

TEST_CASE("[M2] a state that is not finite is not saved: back to the checkpoint before it", "[guard]") {
  TrainConfig config;
  config.steps = 12;
  const Ran run = ran(config, 2, 10);  // in step 10, when a checkpoint is due
  CHECK(run.failure.empty());
  CHECK(run.back_to == std::vector<int64_t>{5});
  CHECK(run.guard.skipped == std::vector<int64_t>{10});
  CHECK(run.steps.size() == 12);
}

TEST_CASE("a run that cannot go on ends with exit code 6, whether it saves or not", "[guard]") {
  for (const int64_t every : {0, 1, 5}) {
    TrainConfig config;
    config.checkpoint_every = every;
    config.schedule.lr = 1e300;
    const Ran run = ran(config, 2);
    CAPTURE(every);
    CHECK_THAT(run.failure, Contains("6: guard: step ") && Contains("--retries 3 is spent"));
    CHECK(run.back_to == std::vector<int64_t>{0, 0, 0});
  }
}

TEST_CASE("a damaged checkpoint is stepped over by name; one of another run is not; none at all is an error", "[guard]") {
  const test::ScratchFolder folder;
  TrainConfig config;
  config.steps = 3;
  std::string text;
  test::run_ranks(2, [&](Communicator& world) {
    TrainConfig mine = config;
    const TrainingData data = read_training_data(mine, world);
    TrainingRun run(mine, data, world);
    History history(3);
    for (int64_t step = 1; step <= 3; ++step) {
      run.train_until(step, history);
      run.save(folder.path(), step);
    }
    const auto spoil = [&](const std::string& name) {
      if (world.rank() == 0) {
        std::filesystem::resize_file(folder.path(name + "/rank_00001.safetensors"), 100);
      }
      world.barrier();
    };
    spoil("step_00000003");
    TrainingRun again(mine, data, world);
    const Loaded loaded = load_or_earlier(again, folder.path("step_00000003"), world);
    check(again.step() == 2 && again.parallel().parameter_hash() == history.records()[1].param_hash, "loaded step {}",
          again.step());
    check(loaded.path == folder.path("step_00000002") && loaded.notes.size() == 2, "{} notes of {}", loaded.notes.size(),
          loaded.path);
    check(loaded.notes[0].find("step_00000003/rank_00001.safetensors") != std::string::npos, "{}", loaded.notes[0]);
    check(loaded.notes[1].find("step_00000002") != std::string::npos, "{}", loaded.notes[1]);
    mine.schedule.lr = 1.0;
    TrainingRun other(mine, data, world);
    bool refused = false;
    try {
      load_or_earlier(other, folder.path("step_00000002"), world);
    } catch (const CheckpointMismatch& mismatch) {
      refused = std::string(mismatch.what()).find("--lr is 1, was 0.005") != std::string::npos;
    }
    check(refused && other.step() == 0, "another run's checkpoint was taken");
    mine.allow_changes = true;
    check(other.load(folder.path("step_00000002")).size() == 1 && other.step() == 2, "--allow-changes does not allow");
    mine = config;
    spoil("step_00000001");
    spoil("step_00000002");
    try {
      load_or_earlier(again, folder.path("step_00000003"), world);
    } catch (const CheckpointError& error) {
      if (world.rank() == 1) {
        text = error.what();
      }
    }
  });
  CHECK_THAT(text, Contains("step_00000003/rank_00001.safetensors"));
}
