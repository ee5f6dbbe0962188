// A machine that loses its power: the disk then holds what was made durable, and of everything else any part (recorded_disk.h).
#include <algorithm>
#include <random>

#include "test/checkpoint/counted_state.h"
#include "test/checkpoint/recorded_disk.h"
#include "test/support/catch.h"
#include "test/support/full.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

namespace fs = std::filesystem;

// What may become of `n` pending changes: everything if they are few, else none lost, all, each alone, all but each, and `random` draws.
std::vector<std::vector<Fate>> fates_of(size_t n, int64_t random, std::mt19937_64& source) {
  const std::vector<Fate> kept(n, Fate::Kept), lost(n, Fate::Lost);
  std::vector<std::vector<Fate>> all = {kept};
  if (n <= static_cast<size_t>(times(3, 5))) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t k = 0, before = all.size(); k < before; ++k) {
        for (const Fate fate : {Fate::Lost, Fate::Torn}) {
          all.push_back(all[k]);
          all.back()[i] = fate;
        }
      }
    }
    return all;
  }
  all.push_back(lost);
  for (size_t i = 0; i < n; ++i) {
    for (const auto& [rest, fate] : {std::pair(kept, Fate::Lost), {kept, Fate::Torn}, {lost, Fate::Kept}, {lost, Fate::Torn}}) {
      all.push_back(rest);
      all.back()[i] = fate;
    }
  }
  for (int64_t k = 0; k < random; ++k) {
    all.push_back(kept);
    for (Fate& fate : all.back()) {
      fate = static_cast<Fate>(source() % 3);
    }
  }
  return all;
}

struct Scene {
  int64_t old_step, new_step;
  int64_t old_value, new_value;
  int64_t keep;
};

// States that were looked at.
int64_t replay(const Scene& scene, int ranks, int64_t random) {
  const TemporaryDirectory dir = directory_in_memory();
  RecordedDisk disk(dir.path());
  REQUIRE(save_counted(dir.path(), scene.old_step, ranks, {.keep = scene.keep, .calls = &disk}, scene.old_value).empty());
  const size_t before = disk.calls();
  REQUIRE(save_counted(dir.path(), scene.new_step, ranks, {.keep = scene.keep, .calls = &disk}, scene.new_value).empty());
  std::mt19937_64 source(17);
  int64_t states = 0;
  for (size_t calls = before; calls <= disk.calls(); ++calls) {
    const std::vector<size_t> pending = disk.pending(calls);
    for (const std::vector<Fate>& choice : fates_of(pending.size(), random, source)) {
      std::vector<Fate> fates(disk.changes());
      for (size_t i = 0; i < pending.size(); ++i) {
        fates[pending[i]] = choice[i];
      }
      const std::string state = dir.path() + ".lost";
      fs::remove_all(state);
      disk.materialize(calls, fates, state);
      const Held held = latest_held(state);
      const std::vector<int64_t> steps = complete_steps(state);  // none may only look like a checkpoint
      const bool all_load = std::all_of(
          steps.begin(), steps.end(), [&](int64_t step) { return held_at(state + "/" + checkpoint_name(step)).fault.empty(); });
      const bool sound = all_load && held.fault.empty() &&
                         (held.value == static_cast<double>(scene.new_value) ||
                          (held.value == static_cast<double>(scene.old_value) && calls < disk.calls()));
      if (!sound) {
        FAIL_CHECK("after " << calls - before << " calls, " << pending.size() << " pending: " << held.value << " "
                            << held.fault);
        return states;
      }
      ++states;
    }
  }
  fs::remove_all(dir.path() + ".lost");
  return states;
}

}  // namespace

TEST_CASE("after power loss at any call, whatever was not durable lost in any part: the old checkpoint or the new one [J1]",
          "[checkpoint]") {
  int64_t states = 0;
  for (const Scene& scene : {Scene{1, 2, 1, 2, 0}, Scene{1, 2, 1, 2, 1}, Scene{1, 1, 1, 2, 0}}) {
    for (const int ranks : {1, 2, 3}) {
      states += replay(scene, ranks, times(0, 200));
    }
  }
  CHECK(states > times(1500, 10000));
}
