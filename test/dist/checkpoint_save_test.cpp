// What a save leaves behind when it fails, and what it does not mind finding.
#include <sys/resource.h>

#include <csignal>

#include "dist/checkpoint/checkpoint_files.h"
#include "dist/checkpoint/durable_file.h"
#include "dist/sharded_checkpoint.h"
#include "test/dist/temporary_directory.h"
#include "test/dist/toy_module.h"
#include "test/support/catch.h"
#include "test/support/report.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// While it lives, no file grows beyond `bytes`: a full disk for writes that go further.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limit{bytes, previous_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit previous_{};
  void (*handler_)(int);
};

// A state of which each rank holds elements of its own tensor; `large` names the rank that has 100,000 of them.
std::vector<StatePiece> pieces_of(const Communicator& comm, int large = -1) {
  std::vector<StatePiece> pieces;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const int64_t numel = rank == large ? 100000 : 10;
    const Tensor data = Tensor::full({rank == comm.rank() ? numel : 0}, rank + 1.0);
    pieces.push_back({message("t{}", rank), "master", {numel}, 0, data});
  }
  return pieces;
}

void save(const std::string& dir, int64_t step, int ranks = 2) {
  run_ranks(ranks, [&](Communicator& comm) { save_checkpoint(dir, step, pieces_of(comm), {}, comm); });
}

std::string latest(const std::string& dir) {
  std::string path;
  run_ranks(2, [&](Communicator& comm) {
    const auto found = find_latest(dir, comm);
    if (comm.rank() == 1) {
      path = found ? fs::path(found->path).filename().string() + (found->note.empty() ? "" : " (noted)") : "none";
    }
  });
  return path;
}

}  // namespace

TEST_CASE("one rank cannot write: nothing is published, all ranks know why, the older checkpoint stands [J3] [J7]", "[dist]") {
  const TemporaryDirectory dir;
  save(dir.path(), 10, 4);
  auto texts = per_rank<std::string>(4);
  {
    const FileSizeLimit limit(65536);
    run_ranks(4, [&](Communicator& comm) {
      try {
        save_checkpoint(dir.path(), 20, pieces_of(comm, 2), {}, comm);
      } catch (const CheckpointError& error) {
        texts[static_cast<size_t>(comm.rank())] = error.what();
      }
    });
  }
  CHECK(texts ==
        std::vector<std::string>(4, dir / "step_00000020.tmp/rank_00002.safetensors: write failed: File too large (errno 27)"));
  CHECK(names_in(dir.path()) == Names{"latest", "step_00000010"});
  CHECK(latest(dir.path()) == "step_00000010");
  save(dir.path(), 20, 4);  // and the next save is none the worse
  CHECK(latest(dir.path()) == "step_00000020");
}

TEST_CASE("a directory that cannot be made or written is an error with its path and errno [J7]", "[dist]") {
  const TemporaryDirectory dir;
  write_file(dir / "file", "x");
  auto texts = per_rank<std::string>(2);
  run_ranks(2, [&](Communicator& comm) {
    try {
      save_checkpoint(dir / "file/checkpoints", 1, pieces_of(comm), {}, comm);
    } catch (const CheckpointError& error) {
      texts[static_cast<size_t>(comm.rank())] = error.what();
    }
  });
  CHECK(texts[0] == dir / "file/checkpoints: mkdir failed: Not a directory (errno 20)");
  CHECK(texts[1] == texts[0]);
  CHECK(names_in(dir.path()) == Names{"file"});
}

TEST_CASE("leftovers of interrupted saves are neither loaded nor in the way [J1] [J6]", "[dist]") {
  const TemporaryDirectory dir;
  CHECK(latest(dir.path()) == "none");
  CHECK(latest(dir / "nowhere") == "none");
  save(dir.path(), 10);
  fs::create_directories(dir / "step_00000999.tmp");
  write_file(dir / "step_00000999.tmp/manifest.json", "{}");
  fs::create_directories(dir / "step_00000998");  // without a manifest
  fs::create_directories(dir / "step_00000020.tmp");
  write_file(dir / "step_00000020.tmp/rank_00000.safetensors", "half a shard");
  write_file(dir / "latest.tmp", "step_0");
  CHECK(latest(dir.path()) == "step_00000010");
  save(dir.path(), 20);
  CHECK(latest(dir.path()) == "step_00000020");
  CHECK(names_in(dir / "step_00000020") == Names{"manifest.json", "rank_00000.safetensors", "rank_00001.safetensors"});
  CHECK(!fs::exists(dir / "step_00000020.tmp"));
}

TEST_CASE("latest decides, not the highest number; without it the highest complete one does, and says so [J5] [J6]", "[dist]") {
  const TemporaryDirectory dir;
  save(dir.path(), 7000);  // of another run
  save(dir.path(), 10);
  CHECK(latest(dir.path()) == "step_00000010");
  for (const char* text : {"", "step_00000011\n", "../step_00000010\n", "step_10\n", "step_00000010\nx", "nonsense"}) {
    write_file(dir / "latest", text);
    CHECK(latest(dir.path()) == "step_00007000 (noted)");
  }
  const TemporaryDirectory elsewhere;
  save(elsewhere.path(), 30);
  write_file(dir / "latest", "../" + fs::path(elsewhere.path()).filename().string() + "/step_00000030\n");
  CHECK(latest(dir.path()) == "step_00007000 (noted)");  // complete, but not in this directory
  fs::remove(dir / "latest");
  CHECK(latest(dir.path()) == "step_00007000 (noted)");
  save(dir.path(), 123456789);
  CHECK(latest(dir.path()) == "step_123456789");
}

TEST_CASE("a step that is saved again replaces the old one whole", "[dist]") {
  const TemporaryDirectory dir;
  save(dir.path(), 10, 4);
  save(dir.path(), 10, 2);
  CHECK(names_in(dir.path()) == Names{"latest", "step_00000010"});
  CHECK(names_in(dir / "step_00000010") == Names{"manifest.json", "rank_00000.safetensors", "rank_00001.safetensors"});
}

TEST_CASE("a manifest that could not be loaded again is never published", "[dist]") {
  const TemporaryDirectory dir;
  auto reports = per_rank<Report>(2);
  run_ranks(2, [&](Communicator& comm) {
    Report& report = reports[static_cast<size_t>(comm.rank())];
    std::vector<StatePiece> holes = pieces_of(comm);
    holes[1].full_shape = {11};  // nobody holds element 10
    report.expect_error<CheckpointError>("pieces must cover all 11 elements",
                                         [&] { save_checkpoint(dir.path(), 1, holes, {}, comm); });
    std::vector<StatePiece> differing = pieces_of(comm);
    differing[0].name = comm.rank() == 0 ? "a" : "b";
    report.expect_error<Error>("every rank must list the same logical tensors",
                               [&] { save_checkpoint(dir.path(), 1, differing, {}, comm); });
  });
  for (const Report& report : reports) {
    CHECK(report.failures() == std::vector<std::string>{});
  }
  CHECK(names_in(dir.path()).empty());
}

TEST_CASE("the last K of this run stay, by number; what is not of this run, or lies ahead, is left alone [J5] [J6]", "[dist]") {
  struct Row {
    int64_t keep;
    std::vector<int64_t> saves;
    Names left;
  };
  const std::vector<Row> rows{{2, {9, 10, 100}, {"step_00000010", "step_00000100"}},
                              {1, {1, 2, 3}, {"step_00000003"}},
                              {2, {5, 5, 5}, {"step_00000005"}},
                              {3, {1, 2}, {"step_00000001", "step_00000002"}},
                              {0, {1, 2, 3}, {"step_00000001", "step_00000002", "step_00000003"}},
                              {2, {10, 20, 30, 15}, {"step_00000010", "step_00000015", "step_00000020", "step_00000030"}}};
  for (const Row& row : rows) {
    for (const bool behind : {false, true}) {
      const TemporaryDirectory dir;
      const auto save_of = [&](const std::string& run, int64_t step, int64_t keep) {
        run_ranks(2, [&](Communicator& comm) {
          save_checkpoint(dir.path(), step, pieces_of(comm), {{"run", run}}, comm, {.keep = keep, .behind = behind});
        });
      };
      save_of("other", 7000, 0);
      save_of("other", 4, 0);
      fs::create_directories(dir / "step_00000999.tmp");  // of an interrupted save
      fs::create_directories(dir / "step_00000998");      // not complete
      for (const int64_t step : row.saves) {
        save_of("this", step, step == 20 || step == 30 ? 0 : row.keep);
      }
      Names expected = row.left;
      expected.insert(expected.begin(), {"latest", "step_00000004"});
      expected.insert(expected.end(), {"step_00000998", "step_00007000"});
      std::sort(expected.begin(), expected.end());
      CAPTURE(row.keep, row.saves, behind);
      CHECK(names_in(dir.path()) == expected);
      CHECK(latest(dir.path()) == checkpoint_name(row.saves.back()));
    }
  }
}

TEST_CASE("a save that fails takes nothing away, also where one is all that may stay [J6]", "[dist]") {
  const TemporaryDirectory dir;
  save(dir.path(), 10, 4);
  for (const bool behind : {false, true}) {
    const FileSizeLimit limit(65536);
    auto failed = per_rank<int>(4);
    run_ranks(4, [&](Communicator& comm) {
      try {
        save_checkpoint(dir.path(), 20, pieces_of(comm, 2), {}, comm, {.keep = 1, .behind = behind});
      } catch (const CheckpointError&) {
        failed[static_cast<size_t>(comm.rank())] = 1;
      }
    });
    CHECK(failed == std::vector<int>(4, 1));
    CHECK(names_in(dir.path()) == Names{"latest", "step_00000010"});
  }
}

TEST_CASE("names of checkpoints are read exactly as they are written", "[dist]") {
  CHECK(checkpoint_name(10) == "step_00000010");
  CHECK(checkpoint_name(123456789) == "step_123456789");
  for (const int64_t step : {int64_t{0}, int64_t{10}, int64_t{99999999}, int64_t{100000000}, INT64_MAX}) {
    CHECK(step_of_name(checkpoint_name(step)) == step);
  }
  for (const char* name : {"", "step_", "step_1", "step_0000001x", "step_00000010.tmp", "step_000000010", "Step_00000010",
                           "step_99999999999999999999", "step_-0000001", "00000010"}) {
    CHECK(step_of_name(name) == -1);
  }
}
