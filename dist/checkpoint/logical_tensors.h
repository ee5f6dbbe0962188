// A checkpoint as whole tensors, whoever wrote which part of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dist/checkpoint/checkpoint_files.h"
#include "dist/checkpoint/checkpoint_manifest.h"

namespace ringlet {

struct LogicalTensor {
  std::string kind, name;
  Shape shape;
  DType dtype = DType::F32;
  std::vector<std::byte> bytes;
};

/// All tensors of the checkpoint directory `path`, every file compared with the manifest by `kind`. Throws DataError.
std::vector<LogicalTensor> read_logical_tensors(const std::string& path, const Manifest& manifest,
                                                HashKind kind = HashKind::Sha256);

/// One safetensors file of whole tensors. `with_optimizer`: everything, as "kind/name"; else parameters, frozen ones and buffers under
/// their plain names, as other programs expect them. Must not exist yet; durable.
void write_full_safetensors(const std::string& file, const std::vector<LogicalTensor>& tensors, bool with_optimizer);

/// Writes the same logical state as a checkpoint of `ranks` ranks into `dir`, each tensor cut evenly. Its path. DataError where `dir`
/// holds another run.
std::string write_resharded(const std::string& dir, const Manifest& manifest, const std::vector<LogicalTensor>& tensors,
                            int ranks);

}  // namespace ringlet
