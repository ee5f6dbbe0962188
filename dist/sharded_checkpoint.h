// Checkpoints that every rank writes and reads its own part of.
//
//   DIR/step_00000010/rank_00000.safetensors …, manifest.json        DIR/latest: the text "step_00000010"
//
// A save is built in DIR/step_00000010.tmp: every rank writes and fsyncs its file; all ranks agree that all did; rank 0 writes
// the manifest, fsyncs it and the directory, renames, fsyncs DIR, then replaces `latest` the same way. Until the rename the
// checkpoint does not exist, after it it is complete: there is nothing between.
//
// What is held is the logical state, in pieces of logical tensors, so any number of ranks can read what any number wrote.
// Functions marked (all) are called by every rank of the communicator, with the same arguments but for the pieces.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/communicator.h"
#include "dist/checkpoint/checkpoint_directory.h"
#include "dist/checkpoint/checkpoint_manifest.h"
#include "dist/checkpoint/file_calls.h"
#include "dist/state_piece.h"
#include "tensor/base/check.h"

namespace ringlet {

/// A checkpoint could not be written, or was refused. The same text on every rank; names the file, and errno if there is one.
class CheckpointError : public DataError {
 public:
  using DataError::DataError;
};

/// It is whole and of somebody else: another model, optimizer or run. No older one would fit better.
class CheckpointMismatch : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

/// A value that was to be saved is NaN or infinite; nothing was written.
class StateNotFinite : public CheckpointError {
 public:
  using CheckpointError::CheckpointError;
};

struct SaveOptions {
  /// Checkpoints of this run (those with the same `run` in their meta) that stay, this one included; 0: all. The others go when this
  /// one is complete, lowest step first.
  int64_t keep = 0;
  /// Whether files are written by a thread of their own: CheckpointSave.
  bool behind = false;
  FileCalls* calls = &system_calls();
};

struct SavedCheckpoint {
  std::string path;  // DIR/step_…
  Manifest manifest;
  std::string
      note;  // on rank 0: empty, or what went wrong after the checkpoint was complete: an old one that cannot be deleted
};

/// (all) Saves `pieces` as DIR/step_N. Its manifest is the same on every rank. Refuses values that are not finite (StateNotFinite).
/// When anything fails on any rank, all throw, what was written is removed, and every older checkpoint is as it was. A
/// checkpoint of the same step is replaced. `meta` is that of rank 0.
SavedCheckpoint save_checkpoint(const std::string& dir, int64_t step, std::span<const StatePiece> pieces,
                                const std::map<std::string, std::string>& meta, Communicator& comm,
                                const SaveOptions& options = {});

/// (all) Fills `pieces`, this rank's at its own world size, from the checkpoint directory `path` (DIR/step_…). Before any of
/// them is touched everything has been validated on all ranks: the manifest's hash, the length and SHA-256 of every file, that
/// exactly the wanted tensors are there with the wanted shapes and dtypes (else CheckpointMismatch), that every value is finite.
Manifest load_checkpoint(const std::string& path, std::span<const StatePiece> pieces, Communicator& comm);

/// (all) The manifest alone, validated in itself; no shard is opened.
Manifest read_manifest(const std::string& path, Communicator& comm);

/// (all) The checkpoint that `latest` names; else the highest complete one: checkpoint_directory.h, as rank 0 sees it.
std::optional<FoundCheckpoint> find_latest(const std::string& dir, Communicator& comm);

/// (all) The complete checkpoints in `dir` below `step`, the next lower first: where to go when that of `step` is damaged.
std::vector<std::string> earlier_checkpoints(const std::string& dir, int64_t step, Communicator& comm);

}  // namespace ringlet
