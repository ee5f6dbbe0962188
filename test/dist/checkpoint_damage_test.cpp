// Checkpoints that nobody vouches for: altered, truncated, incomplete, foreign, hostile. Every one is refused with a message that names the
// file, before any state is touched.
#include <sys/stat.h>

#include <cmath>
#include <functional>

#include "dist/checkpoint_files.h"
#include "dist/sha256.h"
#include "dist/sharded_checkpoint.h"
#include "test/dist/temporary_directory.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/report.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

namespace fs = std::filesystem;

// A tiny state: one matrix and one bias with their moments, on this many ranks.
struct Small {
  explicit Small(Communicator& comm, const std::string& strategy = "zero1") {
    module.parameter("w", Tensor::full({2, 3}, 0.5));
    module.parameter("b", Tensor::full({3}, -0.5));
    parallel = make_strategy(strategy, module, nullptr, comm, {});
  }
  ToyModule module;
  std::unique_ptr<Strategy> parallel;
};

void save_small(const std::string& dir, int ranks, int64_t step = 4) {
  run_ranks(ranks, [&](Communicator& comm) {
    Small small(comm);
    save_checkpoint(dir, step, small.parallel->state(), {}, comm);
  });
}

// What rank 0 hears when `ranks` ranks load; all must hear the same, and keep their state.
std::string refusal(const std::string& path, int ranks = 2) {
  auto texts = per_rank<std::string>(ranks);
  run_ranks(ranks, [&](Communicator& comm) {
    std::string& text = texts[static_cast<size_t>(comm.rank())];
    Small small(comm);
    const uint64_t before = small.parallel->parameter_hash();
    try {
      load_checkpoint(path, small.parallel->state(), comm);
    } catch (const CheckpointError& error) {
      text = error.what();
    }
    small.parallel->adopt_state(0);
    text = small.parallel->parameter_hash() == before ? text : "the state was touched";
  });
  for (const std::string& text : texts) {
    CHECK(text == texts[0]);
  }
  return texts[0];
}

void replace_text(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

// Changes a manifest as somebody would who also knows how to seal it.
void forge(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path);
  replace_text(text, from, to);
  const std::string seal = ",\n \"manifest_sha256\": \"";
  const std::string body = text.substr(0, text.rfind(seal));
  write_file(path, body + seal + sha256(body) + "\"\n}\n");
}

}  // namespace

TEST_CASE("every flipped byte of every file is noticed, and the file is named", "[dist]") {
  const TemporaryDirectory dir;
  save_small(dir.path(), 2);
  const std::string path = dir / "step_00000004";
  REQUIRE(refusal(path).empty());
  run_ranks(1, [&](Communicator& comm) {
    Small small(comm);
    for (const std::string& name : names_in(path)) {
      const std::string original = read_file(path + "/" + name);
      for (size_t at = 0; at < original.size(); at += original.size() < 200 ? 1 : 7) {
        std::string altered = original;
        altered[at] = static_cast<char>(altered[at] ^ (1 << at % 8));
        write_file(path + "/" + name, altered);
        std::string text;
        try {
          load_checkpoint(path, small.parallel->state(), comm);
        } catch (const CheckpointError& error) {
          text = error.what();
        }
        if (text.find(path + "/" + name) != 0) {
          FAIL_CHECK("byte " << at << " of " << name << ": '" << text << "'");
        }
      }
      write_file(path + "/" + name, original);
    }
  });
  CHECK(refusal(path).empty());
}

TEST_CASE("truncated, lengthened, deleted and exchanged files are refused by name", "[dist]") {
  const TemporaryDirectory dir;
  save_small(dir.path(), 2, 4);
  save_small(dir.path(), 2, 5);
  const std::string path = dir / "step_00000004", other = dir / "step_00000005";
  for (const std::string& name : names_in(path)) {
    const std::string file = path + "/" + name, original = read_file(file);
    for (const size_t length : {size_t{0}, size_t{1}, size_t{7}, original.size() / 2, original.size() - 1}) {
      write_file(file, original.substr(0, length));
      CHECK(refusal(path).find(file) == 0);
    }
    write_file(file, original + "x");
    CHECK(refusal(path).find(file) == 0);
    fs::remove(file);
    CHECK(refusal(path).find(file + ": open failed: No such file or directory (errno 2)") == 0);
    write_file(file, original);
  }
  const std::string one = path + "/rank_00001.safetensors";
  const std::string mine = read_file(one);
  fs::copy_file(path + "/rank_00000.safetensors", one, fs::copy_options::overwrite_existing);
  CHECK(refusal(path).find(one) == 0);
  write_file(one, mine);
  fs::copy_file(other + "/manifest.json", path + "/manifest.json", fs::copy_options::overwrite_existing);
  CHECK(refusal(path).find("is the manifest of step 5") != std::string::npos);
  CHECK(refusal(dir / "nothing").find("nothing/manifest.json: open failed") != std::string::npos);
}

TEST_CASE("a shard is a regular file inside the directory, whatever the manifest says [K4]", "[dist]") {
  const TemporaryDirectory dir;
  save_small(dir.path(), 2);
  const std::string path = dir / "step_00000004", manifest = path + "/manifest.json", shard = path + "/rank_00001.safetensors";
  const std::string original = read_file(manifest), elements = read_file(shard);
  const std::string field = "\"file\": \"rank_00001.safetensors\"";
  for (const char* name : {"../x/rank_00001.safetensors", "/etc/passwd", "a/../../b", "", "rank_00001.safetensors\\u0000x", ".",
                           "rank_00000.safetensors", "rank_1.safetensors"}) {
    forge(manifest, field, "\"file\": \"" + std::string(name) + "\"");
    CHECK(refusal(path).find("file must be the plain name rank_00001.safetensors") != std::string::npos);
    write_file(manifest, original);
  }
  fs::remove(shard);
  fs::create_symlink("rank_00000.safetensors", shard);
  CHECK(refusal(path) == shard + ": must be a regular file, got a symbolic link");
  fs::remove(shard);
  fs::create_directory(shard);
  CHECK(refusal(path) == shard + ": must be a regular file, got a directory");
  fs::remove(shard);
  REQUIRE(mkfifo(shard.c_str(), 0600) == 0);
  CHECK(refusal(path) == shard + ": must be a regular file, got a pipe or a device");  // and does not wait for a writer
  fs::remove(shard);
  write_file(shard, elements);
  CHECK(refusal(path).empty());
}

TEST_CASE("a sealed manifest that contradicts itself is refused [K1] [K4]", "[dist]") {
  const TemporaryDirectory dir;
  save_small(dir.path(), 2);
  const std::string path = dir / "step_00000004", manifest = path + "/manifest.json";
  const std::string original = read_file(manifest);
  struct Row {
    const char *from, *to, *part;
  };
  const std::vector<Row> rows{
      {"\"schema_version\": 1", "\"schema_version\": 2", "reads schema version 1, got 2"},
      {"\"schema_version\": 1", "\"schema_version\": \"1\"", "schema_version must be a whole number"},
      {"ringlet.checkpoint", "other", "format must be ringlet.checkpoint"},
      {"\"world_size\": 2", "\"world_size\": 3", "needs one shard for each of 3 ranks, got 2"},
      {"\"world_size\": 2", "\"world_size\": 0", "world_size must be positive"},
      {"\"world_size\": 2", "\"world_size\": 99999999999", "must be a whole number from 0 to"},
      {"\"rank\": 1,", "\"rank\": 0,", "in the order of ranks"},
      {"\"begin\": 0", "\"begin\": 1", "without hole or overlap"},
      {"\"count\": 5", "\"count\": 4", "without hole or overlap"},
      {"\"count\": 5", "\"count\": 9223372036854775807", "do not fit"},
      {"\"count\": 5", "\"count\": -5", "must be a whole number"},
      {"\"kind\": \"exp_avg\"", "\"kind\": \"master\"", "stands twice"},
      {"\"dtype\": \"f32\"", "\"dtype\": \"f16\"", "unknown dtype 'f16'"},
      {"\"name\": \"w\"", "\"name\": 1", "name must be a text"},
      {"\"name\": \"w\"", "\"nom\": \"w\"", "lacks name"},
      {"\"step\": 4", "\"step\": 4, \"step\": 5", "got \"step\" twice"},
      {"\"meta\": {}", "\"meta\": {\"a\": 1}", "a must be a text"},
      {"\"meta\": {}", "\"meta\": [[[[[[[[[[[[]]]]]]]]]]]]", "nested at most"},
      {"\"elements\":", "\"elements\": 999, \"was\":", "offset must be 999"},
  };
  for (const Row& row : rows) {
    forge(manifest, row.from, row.to);
    const std::string text = refusal(path);
    INFO(row.from << " -> " << row.to << ": " << text);
    CHECK(text.find(manifest) == 0);
    CHECK(text.find(row.part) != std::string::npos);
    write_file(manifest, original);
  }
}

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
