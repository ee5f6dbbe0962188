#include "apps/training/resume_proof.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dist/checkpoint/checkpoint_manifest.h"
#include "tensor/base/hash.h"
#include "test/apps/scratch_file.h"
#include "test/dist/temporary_directory.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

// A run of 3 of 5 steps saved, and then the proof, after `tamper` has changed what the proof is given; what rank 0 says of it.
template <typename Tamper>
std::string proved(int P, const Tamper& tamper) {
  const test::ScratchFolder folder;
  std::string line;
  test::run_ranks(P, [&](Communicator& world) {
    TrainConfig config;
    config.steps = 5;
    config.model.dropout = 0.1;
    const TrainingData data = read_training_data(config, world);
    TrainingRun run(config, data, world);
    History history(5);
    run.train_until(3, history);
    run.save(folder.path(), 3);
    Snapshot snapshot = {3, run.parallel().updates(), folder.path("step_00000003"), 0, {}};
    copy_state(run.parallel().state(), snapshot.bytes);
    run.train_until(5, history);
    std::vector<StepRecord> records = history.records();
    tamper(world.rank(), snapshot, records);
    const Invariant proof = prove_resume(snapshot, records, config, data, world);
    if (world.rank() == 0) {
      line = proof.line();
    }
  });
  return line;
}

}  // namespace

TEST_CASE("invariant d: fresh objects that load a checkpoint end where the first run did", "[resume]") {
  for (const int P : {1, 2, 3, 4}) {
    const std::string line = proved(P, [](int, Snapshot&, std::vector<StepRecord>&) {});
    CHECK_THAT(line,
               Contains("RESUME VERIFIED (d) the step-3 checkpoint reloads byte-equal") && Contains("continue to step 5"));
  }
}

TEST_CASE("invariant d fails on one byte of one rank, on one bit of one loss, on another last hash, and says which",
          "[resume]") {
  using Records = std::vector<StepRecord>;
  const auto byte = [](int rank, Snapshot& snapshot, Records&) {
    if (rank == 1) {
      snapshot.bytes.back() ^= std::byte{1};
    }
  };
  CHECK_THAT(proved(2, byte), Contains("FAILED (d)") && Contains("what rank 1 read back"));
  const auto updates = [](int, Snapshot& snapshot, Records&) { snapshot.updates += 1; };
  CHECK_THAT(proved(2, updates), Contains("FAILED (d)") && Contains("what rank 0 read back"));
  const auto loss = [](int, Snapshot&, Records& records) { records[3].loss = std::nextafter(records[3].loss, 0.0); };
  CHECK_THAT(proved(2, loss), Contains("FAILED (d)") && Contains("the loss differs at step 4"));
  const auto hash = [](int, Snapshot&, Records& records) { records.back().param_hash += 1; };
  CHECK_THAT(proved(2, hash), Contains("FAILED (d)") && Contains("ends with other parameters"));
}

TEST_CASE("[L3] 20 steps are 7 + 13 are 1 + 1 + ..., bit for bit, in every strategy, with dropout and accumulation",
          "[resume]") {
  for (const std::string strategy : {"ddp", "zero1", "zero2", "fsdp", "hsdp"}) {
    const int ranks = strategy == "hsdp" ? 4 : 2;  // two copies, each of two shards
    std::vector<uint64_t> hashes(3), losses(3);
    for (const int64_t stride : {20, 7, 1}) {
      const test::TemporaryDirectory folder = test::directory_in_memory();
      test::run_ranks(ranks, [&](Communicator& world) {
        TrainConfig config;
        config.strategy = strategy;
        config.model.dropout = 0.1;
        config.global_batch_size = 12 * ranks;  // 3 micro-batches on each rank
        config.schedule.kind = Schedule::Kind::Cosine;
        config.schedule.horizon = 20;
        const TrainingData data = read_training_data(config, world);
        History history(20);
        uint64_t hash = 0;
        for (int64_t done = 0; done < 20;) {
          TrainingRun run(config, data, world);  // nothing but the checkpoint connects it with the one before
          if (done > 0) {
            run.load(folder / checkpoint_name(done));
          }
          done = std::min<int64_t>(20, done + stride);
          run.train_until(done, history);
          run.save(folder.path(), done, {.keep = 1, .behind = stride == 1});
          hash = run.parallel().parameter_hash();
        }
        const size_t which = stride == 20 ? 0 : (stride == 7 ? 1 : 2);
        if (world.rank() == 1) {
          hashes[which] = hash;
          for (const StepRecord& record : history.records()) {
            losses[which] = mix64(losses[which] ^ std::bit_cast<uint64_t>(record.loss));
          }
        }
      });
    }
    CAPTURE(strategy);
    CHECK(hashes == std::vector<uint64_t>(3, hashes[0]));
    CHECK(losses == std::vector<uint64_t>(3, losses[0]));
  }
}

TEST_CASE("[L3] 7 steps of any strategy and 13 of any other are 20 of one, bit for bit", "[resume]") {
  const std::vector<std::string> strategies{"ddp", "zero1", "zero2", "fsdp", "hsdp"};
  const test::TemporaryDirectory folder = test::directory_in_memory();
  const auto trained = [&](const std::string& strategy, int64_t first, int64_t last, const std::string& load) {
    uint64_t hash = 0;
    test::run_ranks(4, [&](Communicator& world) {
      TrainConfig config;
      config.strategy = strategy;
      config.model.dropout = 0.1;
      config.global_batch_size = 32;  // 2 micro-batches on each rank: with 4 ranks all sums are in order T
      config.clip = 0.8;
      const TrainingData data = read_training_data(config, world);
      TrainingRun run(config, data, world);
      if (!load.empty()) {
        run.load(folder / load + "/" + checkpoint_name(first));
      }
      History history(last);
      run.train_until(last, history);
      if (last < config.steps) {
        run.save(folder / strategy, last);
      }
      const uint64_t mine = run.parallel().parameter_hash();
      if (world.rank() == 3) {
        hash = mine;
      }
    });
    return hash;
  };
  const uint64_t whole = trained("zero1", 0, 20, "");
  for (const std::string& saver : strategies) {
    trained(saver, 0, 7, "");
    for (const std::string& loader : strategies) {
      INFO("7 steps of " << saver << ", 13 of " << loader);
      CHECK(trained(loader, 7, 20, saver) == whole);
    }
  }
}

TEST_CASE("a proof is made when it is cheap or asked for; otherwise the line says why not", "[resume]") {
  TrainConfig config;
  const auto decide = [&](int64_t from, int64_t to) {
    return decide_on_proof(config, {.interval = from, .first_step = 0, .last_step = to});
  };
  CHECK(decide(10, 20).wanted);
  CHECK(decide(50, 100).wanted);
  CHECK(!decide(51, 102).wanted);
  CHECK_THAT(decide(51, 102).why, Contains("51 steps would have to be repeated"));
  CHECK_THAT(decide(0, 20).why, Contains("saves no checkpoint"));
  config.verify_resume = true;
  CHECK(decide(51, 102).wanted);
  config.verify_resume = false;
  CHECK(!decide(10, 20).wanted);
}
