// A checkpoint holds the logical state: what is loaded is what was saved, whoever saved and whoever loads.
#include <cstring>

#include "dist/checkpoint/durable_file.h"
#include "dist/sharded_checkpoint.h"
#include "test/dist/temporary_directory.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/report.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

std::vector<std::byte> bytes_of(const std::vector<StatePiece>& pieces) {
  std::vector<std::byte> bytes;
  for (const StatePiece& piece : pieces) {
    const std::byte* data = piece.data.raw_data();
    bytes.insert(bytes.end(), data, data + piece.data.bytes());
  }
  return bytes;
}

// Trains on `ranks`, saves at step 3, goes on to step 6.
TrainLog train_and_save(const std::string& dir, const TrainOptions& options) {
  TrainLog log;
  run_ranks(options.ranks, [&](Communicator& comm) {
    Job job(comm, options);
    job.train(0, 3);
    save_checkpoint(dir, 3, job.parallel->state(), {{"updates", "3"}}, comm);
    const uint64_t saved = job.parallel->parameter_hash();
    job.train(3, 6);
    const uint64_t last = job.parallel->parameter_hash();
    if (comm.rank() == 0) {
      log.hashes = {saved, last};
      log.results = {job.result};
    }
  });
  return log;
}

}  // namespace

TEST_CASE("state goes to disk and comes back byte for byte, padding and empty shards left out [G1]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    for (const int ranks : {1, 2, 3, 4}) {
      const TemporaryDirectory dir;
      auto reports = per_rank<Report>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        Report& report = reports[static_cast<size_t>(comm.rank())];
        report.about(message("{} on {} ranks", strategy, ranks));
        TrainOptions options{.strategy = strategy};
        Job job(comm, options);
        job.train(0, 2);
        const std::vector<std::byte> before = bytes_of(job.parallel->state());
        const Manifest manifest = save_checkpoint(dir.path(), 2, job.parallel->state(), {{"lr", "0.01"}}, comm).manifest;

        Job fresh(comm, options);
        const bool has_part = !before.empty();  // replicas of hsdp save nothing
        report.expect(has_part == (bytes_of(fresh.parallel->state()) != before), "a fresh model must differ");
        const Manifest loaded = load_checkpoint(dir / "step_00000002", fresh.parallel->state(), comm);
        fresh.parallel->adopt_state(2);
        report.expect(bytes_of(fresh.parallel->state()) == before, "the state differs");
        report.expect(fresh.parallel->parameter_hash() == job.parallel->parameter_hash(), "the parameters differ");
        report.expect(fresh.parallel->updates() == 2, "{} updates", fresh.parallel->updates());
        report.expect(loaded.step == 2 && loaded.world_size == ranks && loaded.meta.at("lr") == "0.01", "the manifest differs");
        report.expect(manifest_to_json(loaded) == manifest_to_json(manifest), "save returns another manifest than load");
        report.expect(loaded.build.at("cpu_level").size() > 5, "no CPU level");
        int64_t elements = 0;
        for (const ShardRecord& shard : loaded.shards) {
          elements += shard.elements;
        }
        report.expect(elements == 3 * job.parallel->parameter_count(), "{} elements are saved", elements);
      });
      for (const Report& report : reports) {
        CHECK(report.failures() == std::vector<std::string>{});
      }
      CHECK(names_in(dir.path()) == std::vector<std::string>{"latest", "step_00000002"});
      CHECK(read_file(dir / "latest") == "step_00000002\n");
    }
  }
}

TEST_CASE("a run goes on to the same bits from a checkpoint of any strategy at any number of ranks [G3] [E7]", "[dist]") {
  TrainOptions options{.micro_batches = 8, .dropout = 0.1};
  for (const std::string& saver : kStrategies) {
    for (const int saved_on : {1, 4}) {
      options.strategy = saver;
      options.ranks = saved_on;
      const TemporaryDirectory dir;
      const TrainLog original = train_and_save(dir.path(), options);
      for (const std::string& loader : kStrategies) {
        for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
          if (loader != saver && ranks != 2 && ranks != 3 && ranks != 8) {
            continue;  // across strategies few speak for all
          }
          auto reports = per_rank<Report>(ranks);
          run_ranks(ranks, [&](Communicator& comm) {
            Report& report = reports[static_cast<size_t>(comm.rank())];
            report.about(message("{} on {} -> {} on {}", saver, saved_on, loader, ranks));
            TrainOptions mine = options;
            mine.strategy = loader;
            Job job(comm, mine);
            load_checkpoint(dir / "step_00000003", job.parallel->state(), comm);
            job.parallel->adopt_state(3);
            report.expect(job.parallel->parameter_hash() == original.hashes[0], "the loaded parameters differ");
            if (8 % ranks == 0) {
              job.train(3, 6);
              report.expect(job.parallel->parameter_hash() == original.hashes[1], "the continued run differs");
              report.expect(same_bits(job.result.loss, original.results[0].loss), "the last loss differs");
            }
          });
          for (const Report& report : reports) {
            CHECK(report.failures() == std::vector<std::string>{});
          }
        }
      }
    }
  }
}

TEST_CASE("parameters of 1, 3, 4 and 5 elements survive four ranks: saved, loaded, equal to one rank [G1]", "[dist]") {
  for (const std::string& strategy : kStrategies) {
    for (const int64_t numel : {1, 3, 4, 5}) {
      const TemporaryDirectory dir;
      for (const int ranks : {1, 4}) {
        auto reports = per_rank<Report>(ranks);
        run_ranks(ranks, [&](Communicator& comm) {
          Report& report = reports[static_cast<size_t>(comm.rank())];
          report.about(message("{} elements, {} on {} ranks", numel, strategy, ranks));
          ToyModule module;
          const Var w = module.parameter("w", Tensor::full({numel}, 2.0));
          const auto parallel = make_strategy(strategy, module, nullptr, comm, {});
          const auto pieces = parallel->state();
          if (ranks == 1) {
            for (const StatePiece& piece : pieces) {
              Tensor data = piece.data;
              for (int64_t i = 0; i < numel; ++i) {
                data.mutable_span<float>()[static_cast<size_t>(i)] =
                    static_cast<float>(10 * (i + 1) + (piece.kind == "master" ? 0 : 1));
              }
            }
            save_checkpoint(dir.path(), 0, pieces, {}, comm);
          } else {
            load_checkpoint(dir / "step_00000000", pieces, comm);
            parallel->adopt_state(7);
            const auto whole = parallel->summon();
            for (int64_t i = 0; i < numel; ++i) {
              report.expect(w.data().at(i) == 10.0 * static_cast<double>(i + 1), "w[{}] is {}", i, w.data().at(i));
            }
            save_checkpoint(dir.path(), 1, pieces, {}, comm);
          }
        });
        for (const Report& report : reports) {
          CHECK(report.failures() == std::vector<std::string>{});
        }
      }
    }
  }
}

TEST_CASE("a file is read in parts of at most 1 MiB, and tensors that lie across them arrive whole", "[dist]") {
  constexpr int64_t kNumel = 700'001;  // master and two moments of 2.7 MiB each, in one file
  const TemporaryDirectory dir;
  const auto value = [](const StatePiece& piece, int64_t i) {
    return static_cast<float>(piece.begin + i) + (piece.kind == "master" ? 0.0F : 0.5F);
  };
  for (const int ranks : {1, 3}) {
    auto wrong = per_rank<int64_t>(ranks);
    run_ranks(ranks, [&](Communicator& comm) {
      ToyModule module;
      module.parameter("w", Tensor::zeros({kNumel}));
      const auto parallel = make_strategy("zero1", module, nullptr, comm, {});
      const std::vector<StatePiece> pieces = parallel->state();
      if (ranks > 1) {
        load_checkpoint(dir / "step_00000001", pieces, comm);
      }
      for (const StatePiece& piece : pieces) {
        Tensor data = piece.data;
        const std::span<float> held = data.mutable_span<float>();
        for (int64_t i = 0; i < data.numel(); ++i) {
          float& element = held[static_cast<size_t>(i)];
          wrong[static_cast<size_t>(comm.rank())] += ranks > 1 && element != value(piece, i) ? 1 : 0;
          element = value(piece, i);
        }
      }
      if (ranks == 1) {
        save_checkpoint(dir.path(), 1, pieces, {}, comm);
      }
    });
    CHECK(wrong == std::vector<int64_t>(static_cast<size_t>(ranks), 0));
  }
  int64_t next = 0, parts = 0;
  const std::string file = dir / "step_00000001/rank_00000.safetensors";
  const int64_t bytes = read_in_parts(file, INT64_MAX, [&](int64_t offset, std::span<const std::byte> part) {
    CHECK(offset == next);
    CHECK(part.size() <= 1 << 20);
    next += static_cast<int64_t>(part.size());
    ++parts;
  });
  CHECK(next == bytes);
  CHECK(parts >= 8);
}

TEST_CASE("frozen parameters and buffers are saved once and reach every rank [F6]", "[dist]") {
  const TemporaryDirectory dir;
  for (const int ranks : {3, 2}) {
    auto seen = per_rank<std::vector<double>>(ranks);
    run_ranks(ranks, [&](Communicator& comm) {
      const bool saves = ranks == 3;
      ToyModule module;
      module.parameter("w", floats({1}));
      const Tensor frozen = module.frozen("f", saves ? floats({5, 6}) : floats({0, 0})).data();
      const Tensor counts = module.buffer("counts", Tensor::from<int64_t>({saves ? 7 : 0}, {1}));
      const auto parallel = make_strategy("zero1", module, nullptr, comm, {});
      if (saves) {
        save_checkpoint(dir.path(), 1, parallel->state(), {}, comm);
      } else {
        load_checkpoint(dir / "step_00000001", parallel->state(), comm);
        parallel->adopt_state(1);
        seen[static_cast<size_t>(comm.rank())] = {frozen.at(0), frozen.at(1), counts.at(0)};
      }
    });
    for (const auto& rank : seen) {
      CHECK((ranks == 3 || rank == std::vector<double>{5, 6, 7}));
    }
  }
}
