// From files that are written to a checkpoint that exists.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dist/checkpoint/checkpoint_files.h"
#include "dist/checkpoint/checkpoint_manifest.h"
#include "dist/checkpoint/file_calls.h"

namespace ringlet {

/// What a rank has to tell about its file: its length and hashes, and of each logical tensor where its piece lies (count 0: it has none).
struct ShardReport {
  int64_t bytes = 0;
  std::string sha256;
  uint64_t xxh3 = 0;
  std::vector<PieceRecord> pieces;
};
ShardReport report_of(int rank, const WrittenShard& written, std::span<const PieceBytes> pieces);

/// The manifest of the files that `reports` tell of, by rank, but for step and meta. `pieces` names the logical tensors.
Manifest assemble_manifest(std::span<const PieceBytes> pieces, std::span<const ShardReport> reports);

/// DIR/step_N.tmp, with all its shards in it and durable, becomes DIR/step_N, and `latest` names it. Until the rename the checkpoint does
/// not exist.
void publish_checkpoint(FileCalls& calls, const std::string& dir, int64_t step, const std::string& manifest);

/// "DIR/step_00000010.tmp".
std::string temporary_of(const std::string& dir, int64_t step);

/// Copies the checkpoint directory `path` into the folder `dir`, which may be on another disk: every shard verified by SHA-256 while
/// it is read, in the same durable order, with its own `latest`; then prunes there. Where `dir` has that checkpoint already, unaltered
/// by its manifest, nothing is copied; where it holds another run (`require_same_run`), DataError before anything is changed.
void copy_checkpoint(FileCalls& calls, const std::string& path, const std::string& dir, int64_t keep);

}  // namespace ringlet
