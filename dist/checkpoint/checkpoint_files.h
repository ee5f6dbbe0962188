// One rank's file of a checkpoint, without any knowledge of other ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/checkpoint/checkpoint_manifest.h"
#include "dist/checkpoint/durable_file.h"
#include "dist/checkpoint/file_calls.h"
#include "tensor/shape.h"

namespace ringlet {

/// A `StatePiece` as what a file needs of it: elements [begin, begin + count) of a logical tensor, and where their bytes lie.
struct PieceBytes {
  std::string name, kind;
  Shape full_shape;
  DType dtype = DType::F32;
  int64_t begin = 0;
  int64_t count = 0;
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::vector<std::byte>> copy{};  // holds them where they were fetched from a device
};

/// What a rank has to tell about its file.
struct WrittenShard {
  int64_t bytes = 0;
  std::string sha256;
  uint64_t xxh3 = 0;
  std::vector<int64_t> offsets;  // of each piece, in bytes from the start of the file; 0 for an empty one
};

/// Throws `DataError`, naming the first element that is NaN or infinite.
void check_finite(std::string_view who, DType dtype, std::span<const std::byte> elements);

/// Writes the pieces that are not empty as safetensors to `path`, which must not exist, fsynced and closed. A whole tensor is
/// stored as "kind/name" in its shape, a part as "kind/name@begin" in one dim.
WrittenShard write_shard(FileCalls& calls, const std::string& path, std::span<const PieceBytes> pieces);

/// By which of the manifest's hashes a file is compared: every bit and any intent, or every accident at ten times the speed.
enum class HashKind : uint8_t { Sha256, Fast };

/// Shows the file of rank `rank` in `directory` to `see`, in parts, once. Afterwards its length, its hash and everything that its own
/// header says have been compared with the manifest: `see` may only put aside what it is shown until this returns without a DataError.
void read_shard(const std::string& directory, const Manifest& manifest, int rank, HashKind kind, const SeePart& see);

/// Copies what a part of a file that begins at `offset` has of the file's bytes [begin, begin + count), which go to `to`.
void copy_common(int64_t offset, std::span<const std::byte> part, int64_t begin, int64_t count, std::byte* to);

}  // namespace ringlet
