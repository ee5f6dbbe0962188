// A disk that fails: every system call of a save, each in turn, in each of the ways in which it can.
#include <atomic>
#include <cerrno>

#include "test/checkpoint/counted_state.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

enum class Way { NoSpace, InputOutput, Short, ShortThenNoSpace };
constexpr Way kWays[] = {Way::NoSpace, Way::InputOutput, Way::Short, Way::ShortThenNoSpace};

// The n-th call fails, counted from 0 over all ranks. A write that is short has written a part; a close that fails has closed.
class FailingCalls final : public FileCalls {
 public:
  FailingCalls(int64_t n, Way way) : n_(n), way_(way) {}

  int64_t make(const FileCall& call) override {
    const int64_t now = next_.fetch_add(1);
    const bool is_write = call.kind == FileCall::Kind::Write;
    if (way_ == Way::ShortThenNoSpace && was_short_.exchange(false)) {
      return failed(ENOSPC);
    }
    if (now != n_) {
      return FileCalls::make(call);
    }
    reached_ = true;
    if (way_ == Way::NoSpace || way_ == Way::InputOutput) {
      if (call.kind == FileCall::Kind::Close) {
        FileCalls::make(call);
      }
      return failed(way_ == Way::NoSpace ? ENOSPC : EIO);
    }
    FileCall part = call;
    if (is_write) {
      part.bytes = call.bytes.first(call.bytes.size() / 2);
      was_short_ = true;
    }
    return FileCalls::make(part);
  }
  bool reached() const { return reached_; }

 private:
  int64_t failed(int error) {
    errno = error;
    return -1;
  }

  int64_t n_;
  Way way_;
  std::atomic<int64_t> next_ = 0;
  std::atomic<bool> reached_ = false;
  std::atomic<bool> was_short_ = false;
};

}  // namespace

TEST_CASE(
    "whatever call of a save fails, all ranks hear of it, nothing is said to be saved that is not, the old one stands [J3] "
    "[J7]",
    "[checkpoint]") {
  int64_t failures = 0, successes = 0;
  for (const bool behind : {false, true}) {
    for (const Way way : kWays) {
      bool reached = true;
      for (int64_t n = 0; reached; ++n) {
        const TemporaryDirectory dir = directory_in_memory();
        REQUIRE(save_counted(dir.path(), 1, 2, {}).empty());
        FailingCalls calls(n, way);
        const std::string fault = save_counted(dir.path(), 2, 2, {.keep = 1, .behind = behind, .calls = &calls});
        reached = calls.reached();
        const Held latest = latest_held(dir.path());
        CAPTURE(n, static_cast<int>(way), behind, fault);
        CHECK(fault.find("disagreement") == std::string::npos);
        CHECK(latest.fault.empty());
        if (fault.empty()) {
          CHECK(latest.value == 2);
          ++successes;
        } else {
          CHECK(held_at(dir / "step_00000001").value == 1);
          CHECK((latest.value == 1 || latest.value == 2));
          CHECK((fault.find("errno 28") != std::string::npos || fault.find("errno 5") != std::string::npos));
          ++failures;
        }
        CHECK(save_counted(dir.path(), 3, 2, {.keep = 1}).empty());  // the next save is none the worse
        CHECK(latest_held(dir.path()).value == 3);
        CHECK(complete_steps(dir.path()) == std::vector<int64_t>{3});
      }
    }
  }
  CHECK(failures > 100);
  CHECK(successes > 50);
}
