// A process that is killed: SIGKILL before and after every system call of its saves, and at any time. What was saved is there, and a
// run that goes on from it, on another number of ranks, ends where the undisturbed one does.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>

#include "dist/checkpoint_save.h"
#include "dist/sharded_checkpoint.h"
#include "test/dist/temporary_directory.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/full.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr int64_t kSteps = 5;

// The process ends before its n-th call, or after it; n from 0 over all ranks.
class KillingCalls final : public FileCalls {
 public:
  KillingCalls(int64_t n, bool after) : n_(n), after_(after) {}
  int64_t make(const FileCall& call) override {
    const int64_t now = next_.fetch_add(1);
    if (now == n_ && !after_) {
      kill(getpid(), SIGKILL);
    }
    const int64_t result = FileCalls::make(call);
    if (now == n_ && after_) {
      kill(getpid(), SIGKILL);
    }
    return result;
  }
  int64_t made() const { return next_; }

 private:
  int64_t n_;
  bool after_;
  std::atomic<int64_t> next_ = 0;
};

// Goes on from the latest checkpoint in `dir`, or from the beginning, to the last step, saving after every one; `announce` hears of
// each that is complete. The hash of the parameters at the end.
uint64_t train(const std::string& dir, int ranks, bool behind, FileCalls& calls, const std::function<void(int64_t)>& announce) {
  uint64_t hash = 0;
  run_ranks(ranks, [&](Communicator& comm) {
    Job job(comm, {.micro_batches = 4, .ragged = false, .dropout = 0.1});
    int64_t step = 0;
    if (const auto found = find_latest(dir, comm)) {
      step = load_checkpoint(found->path, job.parallel->state(), comm).step;
      job.parallel->adopt_state(step);
    }
    for (; step < kSteps; ++step) {
      job.train(step, step + 1);
      const SavedCheckpoint saved =
          save_checkpoint(dir, step + 1, job.parallel->state(), {}, comm, {.keep = 2, .behind = behind, .calls = &calls});
      if (comm.rank() == 0) {
        announce(saved.manifest.step);
      }
    }
    const uint64_t mine = job.parallel->parameter_hash();
    if (comm.rank() == 0) {  // the other threads leave it alone
      hash = mine;
    }
  });
  return hash;
}

uint64_t train_quietly(const std::string& dir, int ranks) {
  return train(dir, ranks, false, system_calls(), [](int64_t) {});
}

struct Ended {
  bool killed = false;
  int64_t announced = 0;  // the last checkpoint that it said was complete
  size_t kills = 0;       // of this process, or of all that worked on the folder
};

// The same in a process of its own, with calls that kill it, or killed by us after `microseconds`.
Ended train_in_a_process(const std::string& dir, int ranks, bool behind, KillingCalls& calls, int64_t microseconds = -1) {
  int pipe_ends[2];
  REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
  const pid_t process = fork();
  if (process == 0) {
    alarm(30);  // a hang is a failure too: another signal
    int code = 0;
    try {
      train(dir, ranks, behind, calls, [&](int64_t step) { code |= write(pipe_ends[1], &step, sizeof(step)) > 0 ? 0 : 1; });
    } catch (...) {
      code = 2;
    }
    _exit(code);
  }
  close(pipe_ends[1]);
  if (microseconds >= 0) {
    usleep(static_cast<useconds_t>(microseconds));
    kill(process, SIGKILL);
  }
  Ended ended;
  for (int64_t step = 0; read(pipe_ends[0], &step, sizeof(step)) == sizeof(step);) {
    ended.announced = step;
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(process, &status, 0);
  ended.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  ended.kills = ended.killed ? 1 : 0;
  CHECK((ended.killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0)));
  return ended;
}

// What a kill left: at least what was announced, and enough to end at `hash` on `ranks` ranks.
void expect_survival(const std::string& dir, const Ended& ended, int ranks, uint64_t hash) {
  const auto found = find_latest(dir);
  const int64_t step = found ? read_manifest_file(found->path).step : 0;
  CHECK(step >= ended.announced);
  CHECK(train_quietly(dir, ranks) == hash);
  const std::vector<int64_t> left = complete_steps(dir);
  CHECK(left.back() == kSteps);
  // `latest`, the two that stay, and one for each death before it had cleaned up: nobody does after the very last save.
  CHECK(names_in(dir).size() <= 3 + std::max<size_t>(ended.kills, 1));
}

}  // namespace

TEST_CASE(
    "killed before or after any system call of a save, a run loses nothing that was announced and ends at the same bits [J1]",
    "[checkpoint]") {
  const TemporaryDirectory undisturbed = directory_in_memory();
  const uint64_t hash = train_quietly(undisturbed.path(), 1);
  int64_t kills = 0;
  for (const bool behind : {false, true}) {
    for (const int ranks : {2, 1, 4}) {
      KillingCalls all(-1, false);
      const TemporaryDirectory whole = directory_in_memory();
      train(whole.path(), ranks, behind, all, [](int64_t) {});
      const int64_t stride = times(ranks == 2 ? 12 : 41, 1);
      for (int64_t n = behind ? stride / 2 : 0; n < all.made(); n += stride) {
        for (const bool after : {false, true}) {
          const TemporaryDirectory dir = directory_in_memory();
          KillingCalls calls(n, after);
          CAPTURE(n, after, ranks, behind);
          const Ended ended = train_in_a_process(dir.path(), ranks, behind, calls);
          kills += ended.killed ? 1 : 0;
          expect_survival(dir.path(), ended, n % 3 == 0 ? 1 : (n % 3 == 1 ? 2 : 4), hash);
        }
      }
    }
  }
  CHECK(kills >= times(70, 2000));
}

TEST_CASE("killed at any time, again and again, a run ends at the same bits [J1]", "[checkpoint]") {
  const TemporaryDirectory undisturbed = directory_in_memory();
  const uint64_t hash = train_quietly(undisturbed.path(), 1);
  std::mt19937_64 source(23);
  int64_t kills = 0;
  for (int64_t round = 0; round < times(20, 400); ++round) {
    const TemporaryDirectory dir = directory_in_memory();
    Ended last;
    for (int attempt = 0; attempt < 3; ++attempt) {
      KillingCalls calls(-1, false);
      const Ended ended =
          train_in_a_process(dir.path(), 1 << (source() % 3), round % 2 == 0, calls, static_cast<int64_t>(source() % 10000));
      last.announced = std::max(last.announced, ended.announced);
      last.kills += ended.kills;
    }
    kills += static_cast<int64_t>(last.kills);
    CAPTURE(round);
    expect_survival(dir.path(), last, 2, hash);
  }
  CHECK(kills >= times(20, 400));  // of 3 a round
}
