// Runs that go back: what is undone, what stays, and where they end.
#include "apps/training/rollback.h"

#include <cerrno>
#include <limits>

#include "apps/training/checkpoint_saver.h"
#include "apps/training/exercise.h"
#include "apps/training/failure.h"
#include "dist/sharded_checkpoint.h"
#include "test/apps/scratch_file.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

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

TEST_CASE("the clock saves too, the same step on all ranks, and is not asked when it was not set", "[guard]") {
  for (const double minutes : {1e-9, 1e9, 0.0}) {
    const test::ScratchFolder folder;
    test::run_ranks(3, [&](Communicator& world) {
      TrainConfig config;
      config.checkpoint_every = 4;
      config.checkpoint_minutes = minutes;
      config.steps = 6;
      const TrainingData data = read_training_data(config, world);
      TrainingRun run(config, data, world);
      const Printer printer(config, 1);
      const StopSignal stop(false);
      CheckpointSaver saver(run, saver_options(config, folder.path(), save_schedule(config, 0), false), stop, printer, world);
      run.train_until(config.steps, saver);
      saver.finish();
    });
    const std::vector<int64_t> all = {1, 2, 3, 4, 5, 6}, due = {4};
    CHECK(complete_steps(folder.path()) == (minutes == 1e-9 ? all : due));
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
    check(loaded.path == folder.path("step_00000002") && loaded.warnings.size() == 2, "{} warnings of {}",
          loaded.warnings.size(), loaded.path);
    check(loaded.warnings[0].find("step_00000003/rank_00001.safetensors") != std::string::npos, "{}", loaded.warnings[0]);
    check(loaded.warnings[1].find("step_00000002") != std::string::npos, "{}", loaded.warnings[1]);
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

TEST_CASE("a save behind training that fails ends the run on all ranks, at the latest at the next save", "[guard]") {
  // No write of rank 1 finds room.
  class FullDisk final : public FileCalls {
   public:
    int64_t make(const FileCall& call) override {
      if (call.kind == FileCall::Kind::Write && call.path.find("rank_00001") != std::string_view::npos) {
        errno = ENOSPC;
        return -1;
      }
      return FileCalls::make(call);
    }
  } disk;
  const test::ScratchFolder folder;
  std::vector<std::string> faults(3);
  std::vector<size_t> steps(3);
  test::run_ranks(3, [&](Communicator& world) {
    TrainConfig config;
    config.checkpoint_every = 4;
    config.checkpoint_behind = true;
    const TrainingData data = read_training_data(config, world);
    TrainingRun run(config, data, world);
    const Printer printer(config, 1);
    const StopSignal stop(false);
    History history(config.steps);
    SaverOptions options = saver_options(config, folder.path(), save_schedule(config, 0), false);
    options.saving.calls = &disk;
    CheckpointSaver saver(run, options, stop, printer, world);
    Observers observers({&history, &saver});
    const auto rank = static_cast<size_t>(world.rank());
    try {
      run.train_until(config.steps, observers);
    } catch (const CheckpointError& error) {
      faults[rank] = error.what();
    }
    steps[rank] = history.records().size();
  });
  for (size_t rank = 0; rank < 3; ++rank) {
    CHECK_THAT(faults[rank], Contains("rank_00001.safetensors: write failed: No space left on device (errno 28)"));
    CHECK(steps[rank] >= 5);
    CHECK(steps[rank] <= 8);
  }
  CHECK(complete_steps(folder.path()).empty());
}
