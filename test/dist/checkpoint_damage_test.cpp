// Checkpoints that nobody vouches for: altered, truncated, incomplete, hostile. Every one is refused with a message that names
// the file, before any state is touched.
#include <sys/stat.h>

#include "test/dist/damage.h"

using namespace ringlet;
using namespace ringlet::test;

namespace fs = std::filesystem;

TEST_CASE("every flipped bit and every truncation of every file is noticed, and the file is named", "[dist]") {
  const TemporaryDirectory dir = directory_in_memory();
  save_small(dir.path(), 8);
  const std::string path = dir / "step_00000004";
  REQUIRE(refusal(path).empty());
  int64_t damages = 0;
  run_ranks(1, [&](Communicator& comm) {
    Small small(comm);
    for (const std::string& name : names_in(path)) {
      const std::string file = path + "/" + name, original = read_file(file);
      const auto expect_refusal = [&](const std::string& altered, size_t at) {
        write_file(file, altered);
        std::string text;
        try {
          load_checkpoint(path, small.parallel->state(), comm);
        } catch (const CheckpointError& error) {
          text = error.what();
        }
        if (text.find(file) != 0) {
          FAIL_CHECK("byte " << at << " of " << name << ": '" << text << "'");
        }
        ++damages;
      };
      for (size_t at = 0; at < original.size(); ++at) {
        expect_refusal(original.substr(0, at), at);
        for (int bit = 0; bit < 8; ++bit) {
          std::string altered = original;
          altered[at] = static_cast<char>(altered[at] ^ (1 << bit));
          expect_refusal(altered, at);
        }
      }
      write_file(file, original);
    }
  });
  CHECK(refusal(path).empty());
  CHECK(damages > 50000);
}

TEST_CASE("truncated, lengthened, deleted and exchanged files are refused by name", "[dist]") {
  const TemporaryDirectory dir;
  save_small(dir.path(), 2, 4);
  save_small(dir.path(), 2, 5, 0.25);  // other values: a shard says nothing of its step
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
  // Exchanged: with another rank's, with that of another step.
  for (const std::string& name : names_in(path)) {
    const std::string file = path + "/" + name, original = read_file(file);
    for (const std::string& with :
         {other + "/" + name,
          path + "/" + (name == "rank_00000.safetensors" ? "rank_00001.safetensors" : "rank_00000.safetensors")}) {
      fs::copy_file(with, file, fs::copy_options::overwrite_existing);
      CHECK(refusal(path).find(file) == 0);
    }
    write_file(file, original);
  }
  fs::copy_file(other + "/manifest.json", path + "/manifest.json", fs::copy_options::overwrite_existing);
  CHECK(refusal(path).find("is the manifest of step 5") != std::string::npos);
  CHECK(refusal(dir / "nothing").find("nothing/manifest.json: open failed") != std::string::npos);
}

TEST_CASE("a file that nobody needs is verified all the same [G1]", "[dist]") {
  const TemporaryDirectory dir;
  const auto with_one_element = [&](Communicator& comm, bool saves) {
    ToyModule module;
    module.parameter("w", floats({1}));
    const auto parallel = make_strategy("zero1", module, nullptr, comm, {});
    if (saves) {
      save_checkpoint(dir.path(), 4, parallel->state(), {}, comm);
    } else {
      load_checkpoint(dir / "step_00000004", parallel->state(), comm);
    }
  };
  run_ranks(4, [&](Communicator& comm) { with_one_element(comm, true); });
  const std::string empty = dir / "step_00000004/rank_00003.safetensors";
  for (const int ranks : {1, 2, 4, 8}) {
    run_ranks(ranks, [&](Communicator& comm) { with_one_element(comm, false); });
  }
  std::string bytes = read_file(empty);
  bytes.back() = '\t';  // a space of the header's padding
  write_file(empty, bytes);
  for (const int ranks : {1, 2, 4, 8}) {
    CHECK_THROWS_AS(run_ranks(ranks, [&](Communicator& comm) { with_one_element(comm, false); }), CheckpointError);
  }
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
      {"\"schema_version\": 2", "\"schema_version\": 1", "reads schema version 2, got 1"},
      {"\"schema_version\": 2", "\"schema_version\": \"1\"", "schema_version must be a whole number"},
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
