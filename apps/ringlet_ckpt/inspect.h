// What ringlet-ckpt finds out about checkpoints, as values that are printed in words or as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dist/checkpoint/checkpoint_files.h"
#include "dist/checkpoint/checkpoint_manifest.h"

namespace ringlet {

/// The checkpoint directories that `path` means: itself if it is one, else all complete ones in it, by step. Throws DataError when
/// there is none.
std::vector<std::string> checkpoints_at(const std::string& path);

struct Verified {
  std::string path;
  int64_t files = 0;
  int64_t bytes = 0;
  std::string fault;  // empty: every file is what its manifest says, and every value finite
};
Verified verify_checkpoint(const std::string& path, HashKind kind);

/// What two checkpoints hold differently.
struct TensorDifference {
  std::string kind, name;
  std::string what;  // "only in the first", "[2, 3] and [3, 2]", "7 of 64 elements"
  double largest = 0.0;
};
struct Difference {
  std::vector<std::string> settings;  // "--lr: 0.005 and 0.01"
  std::vector<TensorDifference> tensors;
  bool same() const { return settings.empty() && tensors.empty(); }
};
Difference compare_checkpoints(const std::string& first, const std::string& second);

}  // namespace ringlet
