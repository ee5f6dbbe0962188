// Between the command line and the first step: threads, settings, files, when to save.
#include "apps/training/checkpoint_saver.h"

#include <csignal>

#include "apps/training/failure.h"
#include "apps/training/launcher.h"
#include "apps/training/output_file.h"
#include "apps/training/settings.h"
#include "apps/training/threads.h"
#include "test/apps/scratch_file.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using Catch::Matchers::Contains;

TEST_CASE("files are checked before and replaced whole; a device is written, never replaced", "[preparation]") {
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
  CHECK_THROWS_AS(require_writable("--summary", folder.path(std::string(300, 'a'))), UsageError);
}

TEST_CASE("a link stays a link, and what stands beside a file is left alone", "[preparation]") {
  namespace fs = std::filesystem;
  const test::ScratchFolder folder;
  fs::create_directory(folder.path("file.tmp"));
  fs::create_symlink("file", folder.path("link"));
  fs::create_symlink("none/file", folder.path("dangling"));
  write_whole_file(folder.path("link"), "text");
  CHECK(fs::is_symlink(folder.path("link")));
  CHECK(folder.read("file") == "text");
  CHECK_THROWS_WITH(require_writable("--metrics", folder.path("dangling")), Contains("cannot be written: No such file"));
}

TEST_CASE("two flags name one file however it is spelled; two runs do not write into each other", "[preparation]") {
  namespace fs = std::filesystem;
  const test::ScratchFolder folder;
  write_whole_file(folder.path("file"), "text");
  fs::create_symlink("file", folder.path("link"));
  fs::create_hard_link(folder.path("file"), folder.path("again"));
  for (const char* other : {"file", "./file", "link", "again"}) {
    CHECK_THROWS_WITH(require_different_files({{"--corpus", folder.path("file")}, {"--metrics", folder.path(other)}}),
                      Contains("--metrics: must be another file than --corpus"));
  }
  CHECK_NOTHROW(
      require_different_files({{"--corpus", folder.path("file")}, {"--metrics", folder.path("new")}, {"--trace", ""}}));
  CHECK_NOTHROW(require_different_files({{"--metrics", "/dev/null"}, {"--trace", "/dev/null"}}));

  LineFile first(folder.path("lines"));
  first.append("one");
  CHECK_THROWS_WITH(LineFile(folder.path("lines")), Contains("is being written by another run"));
  CHECK_THROWS_WITH(require_writable("--metrics", folder.path("lines")), Contains("is being written by another run"));
  CHECK(folder.read("lines") == "one\n");
}

TEST_CASE("checkpoints are due at multiples before the end; at the end when asked, or when there is no other",
          "[preparation]") {
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

TEST_CASE("[L2] what a resumed run is asked to do differently is refused or announced by name", "[preparation]") {
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
  refused([](TrainConfig& c) { c.schedule.lr = 1e-3; }, "--lr is 0.001, was 0.005 when");
  refused([](TrainConfig& c) { c.clip = 1.0; }, "--clip");
  refused([](TrainConfig& c) { c.parallel.reduce_every_micro_batch = true; }, "--reduce-every-micro-batch is true, was false");
  refused([](TrainConfig& c) { c.optimizer.beta2 = 0.99; }, "--beta2");
  refused([](TrainConfig& c) { c.corpus = "x"; }, "--corpus");

  const auto compare = [&](bool bf16_before, bool bf16_now, bool tf32_before, bool tf32_now) {
    TrainConfig before, now;
    before.model.bf16 = bf16_before, before.tf32 = tf32_before;
    now.model.bf16 = bf16_now, now.tf32 = tf32_now;
    return compare_settings(settings_of(now, 4, 7), saved_of(settings_of(before, 4, 7))).refused;
  };
  CHECK(compare(true, true, true, true).empty());
  CHECK(compare(true, false, false, false) ==
        std::vector<std::string>{"--bf16 is off, was on when the checkpoint was written"});
  CHECK(compare(false, false, true, false) ==
        std::vector<std::string>{"--tf32 is off, was on when the checkpoint was written"});
  CHECK(compare(false, false, false, true).size() == 1);

  auto long_digits = saved;  // as older checkpoints spell them
  long_digits["--lr"] = "0.0050000000000000001";
  CHECK(compare_settings(settings_of(config, 4, 7), long_digits).refused.empty());
  long_digits["--lr"] = "0.0050000000000000010";  // its neighbour
  CHECK(compare_settings(settings_of(config, 4, 7), long_digits).refused.size() == 1);
  refused([](TrainConfig& c) { c.model.seed = 9007199254740993; }, "--seed is 9007199254740993");

  TrainConfig longer;
  longer.steps = 40;
  const SettingsChange harmless = compare_settings(settings_of(longer, 4, 7), saved);
  CHECK(harmless.refused.empty());  // a constant rate has no horizon
  REQUIRE(harmless.announced.size() == 1);
  CHECK_THAT(harmless.announced.front(), Contains("--steps is 40, was 20"));
  TrainConfig sharded;
  sharded.strategy = "fsdp";  // the same bits, whoever holds them
  REQUIRE(compare_settings(settings_of(sharded, 4, 7), saved).announced.size() == 1);
  CHECK_THAT(compare_settings(settings_of(sharded, 4, 7), saved).announced.front(), Contains("--strategy is fsdp, was zero1"));

  TrainConfig ddp;
  ddp.strategy = "ddp";
  CHECK(compare_settings(settings_of(ddp, 4, 7), saved).refused.empty());
  CHECK_THAT(compare_settings(settings_of(ddp, 4, 7), saved).announced.front(), Contains("--strategy is ddp, was zero1"));
  for (const auto& [flag, value] : saved) {  // a manifest that somebody took a setting out of
    auto incomplete = saved;
    incomplete.erase(flag);
    REQUIRE(compare_settings(settings_of(config, 4, 7), incomplete).refused.size() == 1);
    CHECK_THAT(compare_settings(settings_of(config, 4, 7), incomplete).refused.front(), Contains(flag));
  }

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

TEST_CASE("[G4] ranks that were started with different flags are told which", "[preparation]") {
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

TEST_CASE("[I5] a rank gets its share of the cores; the environment can lower it, only --threads can raise it",
          "[preparation]") {
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

TEST_CASE("what mpirun ended with becomes an exit code of ours", "[preparation]") {
  const auto exited = [](int code) { return code << 8; };
  for (const int code : {0, 1, 2, 3, 4, 5, 6, 7, 75}) {
    CHECK(exit_code_of_job(exited(code), 0) == code);
  }
  CHECK(exit_code_of_job(exited(137), 0) == 5);       // a rank killed
  CHECK(exit_code_of_job(exited(139), 0) == 5);       // a rank crashed
  CHECK(exit_code_of_job(9, 0) == 5);                 // mpirun itself killed
  CHECK(exit_code_of_job(exited(1), SIGINT) == 130);  // Ctrl-C
  CHECK(exit_code_of_job(exited(1), SIGTERM) == 143);
  CHECK(exit_code_of_job(exited(75), SIGTERM) == 75);  // saved first
}
