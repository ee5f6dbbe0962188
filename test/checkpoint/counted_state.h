// A state that says which save it is of: every value is the step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/backends/local.h"
#include "dist/checkpoint_save.h"
#include "dist/sharded_checkpoint.h"
#include "test/dist/temporary_directory.h"
#include "test/support/run_ranks.h"

namespace ringlet::test {

/// Two tensors, of 10 and of 3 elements, cut over the ranks; the last of many holds nothing of the second.
inline std::vector<StatePiece> counted_state(const Communicator& comm, double value) {
  std::vector<StatePiece> pieces;
  for (const int64_t numel : {10, 3}) {
    const int64_t begin = comm.rank() * numel / comm.size(), end = (comm.rank() + 1) * numel / comm.size();
    pieces.push_back({message("t{}", numel), "master", {numel}, begin, Tensor::full({end - begin}, value)});
  }
  return pieces;
}

/// Saves the state of `step` on `ranks` ranks. Empty, or what all ranks say went wrong; "disagreement" when they do not say the same.
inline std::string save_counted(const std::string& dir, int64_t step, int ranks, const SaveOptions& options,
                                int64_t value = -1) {
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  run_ranks(ranks, [&](Communicator& comm) {
    try {
      save_checkpoint(dir, step, counted_state(comm, static_cast<double>(value < 0 ? step : value)), {}, comm, options);
    } catch (const CheckpointError& error) {
      texts[static_cast<size_t>(comm.rank())] = error.what();
    }
  });
  for (const std::string& text : texts) {
    if (text != texts[0]) {
      return "disagreement: '" + text + "' and '" + texts[0] + "'";
    }
  }
  return texts[0];
}

/// The value that the checkpoint at `path` holds throughout; the reason when it is refused or a mixture.
struct Held {
  double value = -1;
  std::string fault;
};
inline Held held_at(const std::string& path) {
  const auto alone = make_local();
  const std::vector<StatePiece> pieces = counted_state(*alone, -1);
  try {
    load_checkpoint(path, pieces, *alone);
  } catch (const CheckpointError& error) {
    return {-1, error.what()};
  }
  for (const StatePiece& piece : pieces) {
    for (const float value : piece.data.span<float>()) {
      if (value != pieces[0].data.span<float>()[0]) {
        return {-1, "a mixture"};
      }
    }
  }
  return {pieces[0].data.span<float>()[0], ""};
}

/// That of the checkpoint that a resumed run would take.
inline Held latest_held(const std::string& dir) {
  const std::optional<FoundCheckpoint> found = find_latest(dir);
  return found ? held_at(found->path) : Held{-1, "there is no checkpoint"};
}

}  // namespace ringlet::test
