// One rank's file of a checkpoint, without any knowledge of other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/checkpoint_manifest.h"
#include "dist/state_piece.h"

namespace ringlet {

/// "step_00000010".
std::string checkpoint_name(int64_t step);
/// The step of such a name; -1 for any other text.
int64_t step_of_name(std::string_view name);

/// What a rank has to tell about its file.
struct WrittenShard {
  int64_t bytes = 0;
  std::string sha256;
  std::vector<int64_t> offsets;  // of each piece, in bytes from the start of the file; 0 for an empty one
};

/// Throws `DataError`, naming the first element that is NaN or infinite.
void check_finite(std::string_view who, DType dtype, std::span<const std::byte> elements);

/// Writes the pieces that are not empty as safetensors to `path`, which must not exist, fsynced and closed. A whole tensor is
/// stored as "kind/name" in its shape, a part as "kind/name@begin" in one dim.
WrittenShard write_shard(const std::string& path, std::span<const StatePiece> pieces);

/// The bytes of the file of rank `rank` in `directory`, after its length, its SHA-256 and everything that its own header says
/// have been compared with the manifest.
std::vector<std::byte> read_shard(const std::string& directory, const Manifest& manifest, int rank);

}  // namespace ringlet
