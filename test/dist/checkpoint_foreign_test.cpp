// Checkpoints that are whole but not ours: of another model or optimizer, or with values that no run should go on from.
#include <cmath>
#include <functional>

#include "test/dist/damage.h"
#include "test/dist/train_gpt.h"
#include "test/support/report.h"

using namespace ringlet;
using namespace ringlet::test;

TEST_CASE("a checkpoint of another model is refused with the names that differ, the model untouched [K6]", "[dist]") {
  struct Row {
    const char* what;
    std::function<void(GptConfig&)> change;
    std::vector<const char*> parts;
  };
  const std::vector<Row> rows{
      {"n_embd 12 into 24",
       [](GptConfig& c) { c.embed_dim = 24; },
       {"of another shape", "master of wte.weight: [11, 12] for [11, 24]"}},
      {"1 layer into 2", [](GptConfig& c) { c.layers = 2; }, {"missing (master of h.1.ln_1.weight, "}},
      {"no biases", [](GptConfig& c) { c.bias = false; }, {"unexpected (", "of h.0.ln_1.bias"}},
      {"tied head", [](GptConfig& c) { c.tied_head = true; }, {"3 unexpected (", "of lm_head.weight"}},
      {"f32 into f64", [](GptConfig& c) { c.dtype = DType::F64; }, {"of another dtype (master of wte.weight: f32 for f64"}},
  };
  const TemporaryDirectory dir;
  run_ranks(2, [&](Communicator& comm) {
    Job job(comm, {});
    save_checkpoint(dir.path(), 1, job.parallel->state(), {}, comm);
  });
  for (const Row& row : rows) {
    for (const int ranks : {1, 2}) {
      auto reports = per_rank<Report>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        Report& report = reports[static_cast<size_t>(comm.rank())];
        report.about(row.what);
        GptConfig config = tiny_gpt({});
        row.change(config);
        Gpt model(config);
        const auto parallel = make_strategy("ddp", model, comm, {});
        const uint64_t before = parallel->parameter_hash();
        for (const char* part : row.parts) {
          report.expect_error<CheckpointError>(part, [&] { load_checkpoint(dir / "step_00000001", parallel->state(), comm); });
        }
        parallel->adopt_state(0);
        report.expect(parallel->parameter_hash() == before, "the model has changed");
      });
      for (const Report& report : reports) {
        CHECK(report.failures() == std::vector<std::string>{});
      }
    }
  }
}

TEST_CASE("a transposed matrix of the same size is another shape, a swapped optimizer another state [K6]", "[dist]") {
  const TemporaryDirectory dir;
  save_small(dir.path(), 1);
  run_ranks(1, [&](Communicator& comm) {
    Report report;
    ToyModule module;
    module.parameter("w", Tensor::full({3, 2}, 0.5));
    module.parameter("b", Tensor::full({3}, -0.5));
    const auto adamw = make_strategy("zero1", module, nullptr, comm, {});
    report.expect_error<CheckpointError>("3 of another shape (master of w: [2, 3] for [3, 2]",
                                         [&] { load_checkpoint(dir / "step_00000004", adamw->state(), comm); });
    Small small(comm, "ddp");
    const auto plain = make_strategy("ddp", small.module, nullptr, comm, sgd());
    report.expect_error<CheckpointError>("4 unexpected (exp_avg of b, exp_avg of w, exp_avg_sq of b, ...)",
                                         [&] { load_checkpoint(dir / "step_00000004", plain->state(), comm); });
    CHECK(report.failures() == std::vector<std::string>{});
  });
}

TEST_CASE("values that are not finite are neither saved nor loaded, whichever rank holds them [M2]", "[dist]") {
  for (const float poison : {std::nanf(""), HUGE_VALF}) {
    const TemporaryDirectory dir;
    auto reports = per_rank<Report>(2);
    run_ranks(2, [&](Communicator& comm) {
      Report& report = reports[static_cast<size_t>(comm.rank())];
      Small small(comm);
      const auto pieces = small.parallel->state();
      if (comm.rank() == 1) {
        Tensor moment = pieces[5].data;  // exp_avg_sq of b lies on rank 1 alone
        report.expect(pieces[5].kind == "exp_avg_sq" && moment.numel() == 3, "another piece");
        moment.mutable_span<float>()[2] = poison;
      }
      report.expect_error<CheckpointError>("save_checkpoint: exp_avg_sq of b: every value must be finite, element 2 is not",
                                           [&] { save_checkpoint(dir.path(), 4, pieces, {}, comm); });
    });
    for (const Report& report : reports) {
      CHECK(report.failures() == std::vector<std::string>{});
    }
    CHECK(names_in(dir.path()).empty());

    // By hand: a file with one such value, and a manifest that agrees with it.
    save_small(dir.path(), 2);
    const std::string path = dir / "step_00000004", shard = path + "/rank_00001.safetensors";
    std::string bytes = read_file(shard);
    const std::string before = sha256(bytes);
    std::copy_n(reinterpret_cast<const char*>(&poison), 4, bytes.end() - 4);
    write_file(shard, bytes);
    forge(path + "/manifest.json", before, sha256(bytes));
    CHECK(refusal(path) == path + ": exp_avg_sq of b: every value must be finite, element 2 is not");
  }
}
