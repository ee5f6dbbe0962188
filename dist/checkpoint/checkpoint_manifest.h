// The table of contents of a checkpoint: which files there are, how long, with which hashes, and where in them every logical
// tensor lies. A JSON file whose last field is the SHA-256 of every byte before it, so that no byte of it can change unnoticed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/dtype.h"
#include "tensor/shape.h"

namespace ringlet {

/// One file.
struct ShardRecord {
  int rank = 0;
  std::string file;      // "rank_00000.safetensors", a plain name in the checkpoint's directory
  int64_t offset = 0;    // elements in the shards of lower ranks
  int64_t elements = 0;  // in this one
  int64_t bytes = 0;     // length of the file
  std::string sha256;    // 64 hex digits
  std::string xxh3;      // 16 hex digits: xxHash3, 64 bits; ten times as fast, and no proof against intent
};

/// Elements [begin, begin + count) of a logical tensor.
struct PieceRecord {
  int rank = 0;        // whose file
  int64_t offset = 0;  // bytes from the start of that file
  int64_t begin = 0;
  int64_t count = 0;
};

/// One logical tensor, whole: its pieces touch without hole or overlap.
struct TensorRecord {
  std::string name;
  std::string kind;
  Shape shape;
  DType dtype = DType::F32;
  std::vector<PieceRecord> pieces{};  // by begin
};

struct Manifest {
  static constexpr int64_t kSchemaVersion = 2;

  int64_t schema_version = kSchemaVersion;
  int64_t step = 0;
  int world_size = 0;
  double wall_clock_seconds = 0.0;             // since 1970
  std::map<std::string, std::string> build{};  // version, compiler, CPU level: other bits may come of another build
  std::map<std::string, std::string> meta{};   // the program's own: model, hyper-parameters, positions
  std::vector<ShardRecord> shards{};           // by rank
  std::vector<TensorRecord> tensors{};
};

/// "rank_00000.safetensors".
std::string shard_file_name(int rank);

std::string manifest_to_json(const Manifest& manifest);

/// Throws `DataError`, naming `path`, unless the text is a manifest of this schema, unaltered, and consistent in itself: names
/// plain and as expected, one shard per rank, pieces inside their files and covering each tensor exactly.
Manifest parse_manifest(std::string_view text, std::string_view path);

/// That of the checkpoint directory `path` (DIR/step_…), whose name must say the step of the manifest.
Manifest read_manifest_file(const std::string& path);
/// The same of a text that has been read already.
Manifest parse_manifest_of(const std::string& path, std::string_view text);
/// The text, not looked at.
std::string read_manifest_text(const std::string& path);

/// The `run` in its meta, which is the same in all checkpoints of a run; empty where there is none.
std::string run_of(const Manifest& manifest);

/// "step_00000010".
std::string checkpoint_name(int64_t step);
/// The step of such a name; −1 for any other text.
int64_t step_of_name(std::string_view name);
/// 16 hex digits, as the manifest has an xxHash.
std::string hex_of(uint64_t hash);

}  // namespace ringlet
