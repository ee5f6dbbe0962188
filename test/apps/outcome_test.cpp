#include "apps/training/outcome.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/training/checkpoint_saver.h"
#include "apps/training/failure.h"
#include "apps/training/launcher.h"
#include "apps/training/output_file.h"
#include "apps/training/settings.h"
#include "apps/training/step_json.h"
#include "apps/training/threads.h"
#include "test/apps/scratch_file.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

std::vector<StepRecord> falling(int64_t steps) {
  std::vector<StepRecord> records;
  for (int64_t step = 1; step <= steps; ++step) {
    records.push_back({.step = step, .loss = 5.0 - 0.1 * static_cast<double>(step), .param_hash = 0xfedcba9876543210});
  }
  return records;
}

}  // namespace

TEST_CASE("invariant a: falls, within noise; says where and by how much it rises; does not apply where nothing was promised",
          "[outcome]") {
  const TrainConfig config;
  auto records = falling(20);
  CHECK(loss_falls(records, config, 4).holds == true);
  CHECK_THAT(loss_falls(records, config, 4).line(), Contains("VERIFIED (a) the loss falls at every one of the 20 steps"));

  const double noise = loss_noise(config.model, 64, records[9].loss);
  CHECK(noise == 0x1p-24 * (32 + 5 + 6 + 6) * records[9].loss);
  records[10].loss = records[9].loss + 0.9 * noise;
  CHECK(loss_falls(records, config, 4).holds == true);
  records[10].loss = records[9].loss + 1.1 * noise;
  CHECK(loss_falls(records, config, 4).holds == false);
  records[10].loss = records[9].loss + 0.5;
  CHECK_THAT(loss_falls(records, config, 4).line(), Contains("FAILED (a)") && Contains("at step 11 it rises by 0.5"));
  records[10].loss = std::nan("");
  CHECK(loss_falls(records, config, 4).holds == false);

  records = falling(30);
  records[25].loss = 9.0;  // beyond the first 20
  TrainConfig longer;
  longer.steps = 30;
  CHECK(loss_falls(records, longer, 4).holds == true);

  TrainConfig corpus;
  corpus.corpus = "text";
  TrainConfig wide;
  wide.model.embed_dim = 64;
  for (const TrainConfig& other : {corpus, wide}) {
    CHECK(!loss_falls(falling(20), other, 4).holds);
    CHECK_THAT(loss_falls(falling(20), other, 4).line(), Contains("not applicable (a)"));
  }
  auto skipped = falling(20);
  skipped[4].skipped = true;
  CHECK(!loss_falls(skipped, config, 4).holds);
  auto resumed = falling(20);
  resumed.erase(resumed.begin(), resumed.begin() + 10);
  CHECK(!loss_falls(resumed, config, 4).holds);
}

TEST_CASE("invariants b and c name the step, the rank and the difference", "[outcome]") {
  auto records = falling(5);
  CHECK_THAT(replicas_equal(records, 4).line(), Contains("VERIFIED (b)") && Contains("fedcba9876543210"));
  records[2].replicas_equal = false;
  CHECK_THAT(replicas_equal(records, 4).line(), Contains("FAILED (b)") && Contains("from step 3 on"));

  MemoryProfile memory;
  memory.rows.resize(2);
  memory.rows[0].held.optimizer = memory.rows[0].formula.optimizer = memory.rows[1].formula.optimizer = 1200;
  memory.rows[1].held.optimizer = 1204;
  CHECK_THAT(memory_matches(memory, "zero1").line(),
             Contains("FAILED (c)") && Contains("rank 1 holds 1204 bytes") && Contains("1200: 4"));
  memory.rows[1].held.optimizer = 1200;
  CHECK_THAT(memory_matches(memory, "zero1").line(), Contains("VERIFIED (c) optimizer bytes per rank equal ZeRO-1's 12P/N"));
}

TEST_CASE("the fourth invariant reads RESUME VERIFIED, and a failed one spoils the exit code", "[outcome]") {
  Invariant resume = {.letter = 'd', .holds = true, .claim = "the step-10 checkpoint reloads byte-equal", .detail = "x"};
  CHECK(resume.line() == "RESUME VERIFIED (d) the step-10 checkpoint reloads byte-equal: x");
  Outcome outcome({}, {});
  outcome.invariants = {resume};
  CHECK(outcome.exit_code() == ExitCode::Done);
  resume.holds = std::nullopt;
  outcome.invariants.push_back(resume);
  CHECK(outcome.exit_code() == ExitCode::Done);
  resume.holds = false;
  outcome.invariants.push_back(resume);
  CHECK(outcome.exit_code() == ExitCode::InvariantFailed);
}

TEST_CASE("a line of metrics has its eight fields; hashes are hex strings, what is not finite is null", "[outcome]") {
  StepRecord record = {
      .step = 7, .loss = 1.5, .grad_norm = std::nan(""), .param_norm = INFINITY, .param_hash = 0x0123456789abcdef};
  const auto json = nlohmann::json::parse(to_json(record));
  CHECK(json.size() == 8);
  CHECK(json["step"] == 7);
  CHECK(json["loss"] == 1.5);
  CHECK(json["grad_norm"].is_null());
  CHECK(json["param_norm"].is_null());
  CHECK(json["param_hash"] == "0123456789abcdef");
  for (const char* field : {"lr", "step_ms", "tokens_per_s"}) {
    CHECK(json.contains(field));
  }
}

TEST_CASE("the summary has the fields that its readers expect", "[outcome]") {
  RunDescription run;
  run.world_size = 2;
  run.backend = "mpi";
  run.transport = "messages";
  run.strategy = "zero1";
  run.parameters = 29824;
  Outcome outcome(run, falling(3));
  outcome.memory.rows.resize(2);
  outcome.memory.rows[1].held.optimizer = 42;
  outcome.invariants = {{'a', true, "", ""}, {'b', false, "", ""}, {'c', std::nullopt, "", ""}, {'d', true, "", ""}};
  outcome.final_param_hash = 1;
  const auto json = nlohmann::json::parse(to_json(outcome));
  CHECK(json["schema_version"] == 1);
  CHECK(json["world_size"] == 2);
  CHECK(json["backend"] == "mpi");
  CHECK(json["transport"] == "messages");
  CHECK(json["strategy"] == "zero1");
  CHECK(json["reduction_order"] == "T");
  CHECK(json["parameters"] == 29824);
  CHECK(json["steps"].size() == 3);
  CHECK(json["steps"][0]["param_hash"] == "fedcba9876543210");
  CHECK(json["memory"][1]["held"]["optimizer"] == 42);
  CHECK(json["memory"][0]["formula"].size() == 5);
  CHECK(json["memory"][0]["formula"].contains("activations_peak"));
  CHECK(json["memory"][0]["held"].contains("communication"));
  CHECK(json["invariants"]["loss_monotone"] == true);
  CHECK(json["invariants"]["replicas_equal"] == false);
  CHECK(json["invariants"]["memory_formula"].is_null());
  CHECK(json["invariants"]["resume_byte_equal"] == true);
  CHECK(json["heldout_loss"].is_null());
  CHECK(json["final_param_hash"] == "0000000000000001");
  CHECK(json["exit_code"] == 1);
}

TEST_CASE("files are checked before and replaced whole; a device is written, never replaced", "[outcome]") {
  const test::ScratchFolder folder;
  CHECK_THROWS_AS(require_writable("--summary", folder.path("none/file")), UsageError);
  CHECK_THROWS_AS(require_writable("--summary", folder.path()), UsageError);
  require_writable("--summary", folder.path("file"));
  CHECK(std::filesystem::is_empty(folder.path()));
  write_whole_file(folder.path("file"), "first");
  write_whole_file(folder.path("file"), "second");
  CHECK(folder.read("file") == "second");
  require_writable("--summary", "/dev/null");
  write_whole_file("/dev/null", "gone");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_THROWS_AS(write_whole_file(folder.path("none/file"), "x"), DataError);
}

TEST_CASE("metrics of a resumed run keep the lines up to where it goes on, and drop the rest", "[outcome]") {
  const test::ScratchFolder folder;
  const std::string path = folder.path("metrics");
  {
    MetricsFile first(path, 0);
    for (const StepRecord& record : falling(5)) {
      first.on_step(record);
    }
  }
  const std::string all = folder.read("metrics");
  {
    MetricsFile resumed(path, 3);
    const auto records = falling(5);
    resumed.on_step(records[3]);
    resumed.on_step(records[4]);
  }
  CHECK(folder.read("metrics") == all);
  MetricsFile anew(path, 0);
  CHECK(folder.read("metrics").empty());
}

TEST_CASE("checkpoints are due at multiples before the end; at the end when asked, or when there is no other", "[outcome]") {
  struct Row {
    SaveSchedule schedule;
    std::vector<int64_t> due;
    int64_t proof_from;
  };
  const std::vector<Row> rows = {
      {{.interval = 10, .first_step = 0, .last_step = 20}, {10}, 10},
      {{.interval = 5, .first_step = 0, .last_step = 20}, {5, 10, 15}, 15},
      {{.interval = 10, .first_step = 0, .last_step = 10}, {10}, 10},
      {{.interval = 10, .first_step = 0, .last_step = 20, .at_end = true}, {10, 20}, 10},
      {{.interval = 0, .first_step = 0, .last_step = 20}, {}, -1},
      {{.interval = 0, .first_step = 0, .last_step = 20, .at_end = true}, {20}, 20},
      {{.interval = 30, .first_step = 0, .last_step = 20}, {}, -1},
      {{.interval = 10, .first_step = 10, .last_step = 20}, {}, -1},
      {{.interval = 10, .first_step = 10, .last_step = 40}, {20, 30}, 30},
      {{.interval = 1, .first_step = 0, .last_step = 1}, {1}, 1},
  };
  for (const Row& row : rows) {
    std::vector<int64_t> due;
    for (int64_t step = row.schedule.first_step + 1; step <= row.schedule.last_step; ++step) {
      if (row.schedule.due(step)) {
        due.push_back(step);
      }
    }
    CAPTURE(row.schedule.interval, row.schedule.first_step, row.schedule.last_step);
    CHECK(due == row.due);
    CHECK(row.schedule.last_before_end() == row.proof_from);
  }
}

TEST_CASE("[L2] what a resumed run is asked to do differently is refused or announced by name", "[outcome]") {
  TrainConfig config;
  const auto saved_of = [](const Settings& settings) {
    return std::map<std::string, std::string>(settings.begin(), settings.end());
  };
  const auto saved = saved_of(settings_of(config, 4, 7));
  const auto refused = [&](auto change, const char* flag) {
    TrainConfig other;
    change(other);
    const SettingsChange found = compare_settings(settings_of(other, 4, 7), saved);
    CAPTURE(flag);
    REQUIRE(found.refused.size() == 1);
    CHECK_THAT(found.refused.front(), Contains(flag));
  };
  CHECK(compare_settings(settings_of(config, 4, 7), saved).refused.empty());
  refused([](TrainConfig& c) { c.model.seed = 42; }, "--seed is 42, was 41");
  refused([](TrainConfig& c) { c.global_batch_size = 32; }, "--global-batch-size is 32, was 16");
  refused([](TrainConfig& c) { c.model.layers = 3; }, "--layers");
  refused([](TrainConfig& c) { c.model.tied_head = true; }, "--tied-head");
  refused([](TrainConfig& c) { c.schedule.lr = 1e-3; }, "--lr is 0.001");
  refused([](TrainConfig& c) { c.clip = 1.0; }, "--clip");
  refused([](TrainConfig& c) { c.strategy = "ddp"; }, "--strategy is ddp, was zero1");
  refused([](TrainConfig& c) { c.optimizer.beta2 = 0.99; }, "--beta2");
  refused([](TrainConfig& c) { c.corpus = "x"; }, "--corpus");

  TrainConfig longer;
  longer.steps = 40;
  const SettingsChange harmless = compare_settings(settings_of(longer, 4, 7), saved);
  CHECK(harmless.refused.empty());  // a constant rate has no horizon
  REQUIRE(harmless.announced.size() == 1);
  CHECK_THAT(harmless.announced.front(), Contains("--steps is 40, was 20"));

  TrainConfig cosine;
  cosine.schedule.kind = Schedule::Kind::Cosine;
  cosine.schedule.horizon = 100;
  const auto saved_cosine = saved_of(settings_of(cosine, 4, 7));
  cosine.schedule.horizon = 200;
  REQUIRE(compare_settings(settings_of(cosine, 4, 7), saved_cosine).refused.size() == 1);
  CHECK_THAT(compare_settings(settings_of(cosine, 4, 7), saved_cosine).refused.front(), Contains("--horizon is 200, was 100"));

  // Another number of ranks changes the run only where it changes the batch.
  CHECK(compare_settings(settings_of(config, 2, 7), saved).refused.size() == 1);
  TrainConfig fixed;
  fixed.global_batch_size = 16;
  CHECK(compare_settings(settings_of(fixed, 2, 7), saved).refused.empty());
  TrainConfig text;
  text.corpus = "text";
  CHECK(compare_settings(settings_of(text, 4, 8), saved_of(settings_of(text, 4, 7))).refused.size() == 1);
}

TEST_CASE("[G4] ranks that were started with different flags are told which", "[outcome]") {
  for (const int P : {1, 4}) {
    CHECK_NOTHROW(
        test::run_ranks(P, [](Communicator& world) { require_same_settings(world, settings_of({}, world.size(), 0)); }));
  }
  std::vector<std::string> messages(4);
  test::run_ranks(4, [&](Communicator& world) {
    TrainConfig config;
    config.model.seed = world.rank() == 2 ? 1338 : 1337;
    try {
      require_same_settings(world, settings_of(config, world.size(), 0));
    } catch (const AgreedFailure& failure) {
      messages[static_cast<size_t>(world.rank())] = failure.exit_code() == ExitCode::Usage ? failure.what() : "";
    }
  });
  for (const std::string& text : messages) {
    CHECK_THAT(text, Contains("rank 2") && Contains("--seed 1338 where rank 0 has --seed 1337"));
  }
}

TEST_CASE("[I5] a rank gets its share of the cores; the environment can lower it, only --threads can raise it", "[outcome]") {
  struct Row {
    int cores, ranks;
    int64_t environment, asked;
    int threads;
  };
  const std::vector<Row> rows = {
      {2, 1, 0, 0, 2}, {2, 2, 0, 0, 1}, {2, 4, 0, 0, 1}, {2, 4, 4, 0, 1},  {2, 1, 4, 0, 2},
      {2, 1, 1, 0, 1}, {2, 4, 0, 3, 3}, {7, 2, 0, 0, 3}, {64, 8, 4, 0, 4}, {1, 1, 0, 0, 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.cores, row.ranks, row.environment, row.asked);
    CHECK(share_of_cores(row.cores, row.ranks, row.environment, row.asked).threads == row.threads);
  }
  CHECK(share_of_cores(2, 4, 0, 0).text(4) == "4 ranks x 1 thread (2 cores / 4 ranks)");
  CHECK_THAT(share_of_cores(2, 4, 4, 0).text(4), Contains("OMP_NUM_THREADS=4 would oversubscribe"));
}

TEST_CASE("what mpirun ended with becomes an exit code of ours", "[outcome]") {
  const auto exited = [](int code) { return code << 8; };
  for (const int code : {0, 1, 2, 3, 4, 5, 6, 7, 75}) {
    CHECK(exit_code_of_job(exited(code), false) == code);
  }
  CHECK(exit_code_of_job(exited(137), false) == 5);  // a rank killed
  CHECK(exit_code_of_job(exited(139), false) == 5);  // a rank crashed
  CHECK(exit_code_of_job(9, false) == 5);            // mpirun itself killed
  CHECK(exit_code_of_job(exited(1), true) == 130);   // Ctrl-C
}
