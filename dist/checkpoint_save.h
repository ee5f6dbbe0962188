// One save from its beginning to its end: on the spot, or behind the training that goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "collectives/communicator.h"
#include "dist/checkpoint/checkpoint_files.h"
#include "dist/sharded_checkpoint.h"

namespace ringlet {

/// The pieces as bytes, in memory shared with them; those on a device as copies.
std::vector<PieceBytes> bytes_of(std::span<const StatePiece> pieces);

/// Work that does not communicate: done at once, or by a thread of its own.
class Errand {
 public:
  ~Errand();
  void start(bool behind, std::function<void()> work);
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  /// Waits for it. What it threw, as a text; empty when it succeeded.
  std::string fault();

 private:
  std::thread thread_;
  std::atomic<bool> done_ = true;
  std::string fault_;
};

/// The steps of a save, in their order; between two of them all ranks agree. Only the caller's thread communicates.
///
///   begin      values are finite, DIR/step_N.tmp is made         (all, at once)
///   write      every rank writes and fsyncs its file             behind, if so asked
///   publish    rank 0: manifest, rename, `latest`, what may go   behind, if so asked
class CheckpointSave {
 public:
  /// (all) Begins. Throws CheckpointError, agreed upon. The bytes of `pieces` must stay as they are until the save is over; and
  /// `comm` and the calls of `options` must live. `meta` is that of rank 0.
  CheckpointSave(std::string dir, int64_t step, std::vector<PieceBytes> pieces, std::map<std::string, std::string> meta,
                 Communicator& comm, const SaveOptions& options);
  /// Waits for what is under way on this rank. A save that not all ranks have brought to its end does not exist.
  ~CheckpointSave();

  /// Whether this rank has done what it had to: its next `go_on` waits for no disk.
  bool is_ready() const { return errand_.is_done(); }
  /// (all) Waits for this rank's part, and goes one step on. True when the checkpoint is complete. Throws CheckpointError on every rank
  /// when it failed on any.
  bool go_on();
  /// (all) Goes on to the end.
  SavedCheckpoint finish();

 private:
  void begin();
  void start_publishing();
  template <typename Work>
  void or_clean_up(Work&& work);

  std::string dir_, temporary_;
  int64_t step_;
  std::vector<PieceBytes> pieces_;
  std::map<std::string, std::string> meta_;
  Communicator& comm_;
  SaveOptions options_;
  WrittenShard mine_;
  Manifest manifest_;
  std::string note_;
  enum class Phase : uint8_t { Writing, Publishing, Complete } phase_ = Phase::Writing;
  Errand errand_;  // last: it ends before what it works with does
};

}  // namespace ringlet
