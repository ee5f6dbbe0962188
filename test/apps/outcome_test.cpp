#include "apps/training/outcome.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/training/counted.h"
#include "apps/training/step_json.h"
#include "test/apps/scratch_file.h"
#include "test/support/catch.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

std::vector<StepRecord> falling(int64_t steps) {
  std::vector<StepRecord> records;
  for (int64_t step = 1; step <= steps; ++step) {
    records.push_back(
        {.step = step, .loss = 5.0 - 0.1 * static_cast<double>(step), .param_hash = 0xfedcba9876543210, .batch = step});
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
  skipped[4].batch = 6;
  CHECK(!loss_falls(skipped, config, 4).holds);
  auto resumed = falling(20);
  resumed.erase(resumed.begin(), resumed.begin() + 10);
  CHECK(!loss_falls(resumed, config, 4).holds);
}

TEST_CASE("invariants b and c name the step, the rank and the difference", "[outcome]") {
  auto records = falling(5);
  CHECK_THAT(replicas_equal(records, {}, 4).line(), Contains("VERIFIED (b)") && Contains("fedcba9876543210"));
  records[2].replicas_equal = false;
  CHECK_THAT(replicas_equal(records, {}, 4).line(), Contains("FAILED (b)") && Contains("from step 3 on"));

  const TrainConfig zero1;
  MemoryProfile memory;
  memory.rows.resize(2);
  memory.rows[0].held.optimizer = memory.rows[0].formula.optimizer = memory.rows[1].formula.optimizer = 1200;
  memory.rows[1].held.optimizer = 1204;
  CHECK_THAT(memory_matches(memory, zero1).line(),
             Contains("FAILED (c)") && Contains("rank 1 holds 1204 bytes") && Contains("1200: 4"));
  memory.rows[1].held.optimizer = 1200;
  CHECK_THAT(memory_matches(memory, zero1).line(), Contains("VERIFIED (c) optimizer bytes per rank equal ZeRO-1's 12P/N"));
}

TEST_CASE("what stands once is counted as one, and what is no number has no sign", "[outcome]") {
  CHECK(counted(1, "rank") == "1 rank");
  CHECK(counted(0, "rank") == "0 ranks");
  CHECK(counted(2, "batch", "es") == "2 batches");
  CHECK(message("loss {}", std::copysign(std::nan(""), -1.0)) == "loss nan");
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
  run.reduction_order = "T";
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
  CHECK(json["memory"][0]["overhead"]["padding"] == 0);
  CHECK(json["invariants"]["loss_monotone"] == true);
  CHECK(json["invariants"]["replicas_equal"] == false);
  CHECK(json["invariants"]["memory_formula"].is_null());
  CHECK(json["invariants"]["resume_byte_equal"] == true);
  CHECK(json["heldout_loss"].is_null());
  CHECK(json["final_param_hash"] == "0000000000000001");
  CHECK(json["exit_code"] == 1);
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
