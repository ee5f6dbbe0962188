// A folder of checkpoints, seen without ranks: which are there, which is the latest, which may go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/checkpoint/file_calls.h"

namespace ringlet {

struct FoundCheckpoint {
  std::string path;  // DIR/step_…
  std::string note;  // empty, or why it is not the one that `latest` names
};

/// The checkpoint that `latest` names; if there is none, the one with the highest step that has a manifest. Leftovers of
/// interrupted saves do not count. Empty when there is none at all.
std::optional<FoundCheckpoint> find_latest(const std::string& dir);

/// The steps in `dir` that have a manifest, by number, ascending. Whether they are unaltered is not looked at.
std::vector<int64_t> complete_steps(const std::string& dir);

/// Throws DataError unless all checkpoints in `dir` are of `run`: a step of one run must neither replace a step of another nor be taken for
/// it. One that cannot be read may be of any run: it is refused only where its step is `step`, which is about to be replaced.
void require_same_run(const std::string& dir, const std::string& run, int64_t step = -1);

/// Deletes what the checkpoint of `step`, which must be complete and durable, has made superfluous: of the checkpoints of the same
/// run (those that have the same `run` in their meta) with lower steps, all but the last `keep` − 1; and what interrupted saves and
/// deletions have left. Steps above `step` belong to what was tried and left behind: neither counted nor touched.
/// A checkpoint that goes loses its name first, durably, and its files after. `keep` ≤ 0: only the leftovers go.
void prune_checkpoints(FileCalls& calls, const std::string& dir, int64_t step, int64_t keep, const std::string& run);

}  // namespace ringlet
