#include "dist/checkpoint/logical_tensors.h"

#include <cstring>

#include "dist/checkpoint/checkpoint_directory.h"
#include "dist/checkpoint/checkpoint_publish.h"
#include "dist/checkpoint/durable_file.h"
#include "dist/checkpoint/safetensors.h"

namespace ringlet {

std::vector<LogicalTensor> read_logical_tensors(const std::string& path, const Manifest& manifest, HashKind kind) {
  std::vector<LogicalTensor> tensors;
  for (const TensorRecord& record : manifest.tensors) {
    const size_t bytes = static_cast<size_t>(record.shape.numel()) * size_of(record.dtype);
    tensors.push_back({record.kind, record.name, record.shape, record.dtype, std::vector<std::byte>(bytes)});
  }
  for (const ShardRecord& shard : manifest.shards) {
    read_shard(path, manifest, shard.rank, kind, [&](int64_t offset, std::span<const std::byte> part) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        const auto item = static_cast<int64_t>(size_of(tensors[i].dtype));
        for (const PieceRecord& piece : manifest.tensors[i].pieces) {
          if (piece.rank == shard.rank) {
            copy_common(offset, part, piece.offset, piece.count * item, tensors[i].bytes.data() + piece.begin * item);
          }
        }
      }
    });
  }
  return tensors;
}

void write_full_safetensors(const std::string& file, const std::vector<LogicalTensor>& tensors, bool with_optimizer) {
  SafetensorsHeader header;
  header.metadata["format"] = "pt";  // what readers of other programs ask for
  std::vector<const LogicalTensor*> chosen;
  for (const LogicalTensor& tensor : tensors) {
    const bool is_model = tensor.kind == "master" || tensor.kind == "frozen" || tensor.kind == "buffer";
    if (is_model || with_optimizer) {
      chosen.push_back(&tensor);
      header.tensors.push_back(
          {with_optimizer ? tensor.kind + "/" + tensor.name : tensor.name, tensor.dtype, tensor.shape, 0, 0});
    }
  }
  const std::string head = make_safetensors_header(header);
  DurableFile out(system_calls(), file);
  out.write(head);
  for (const LogicalTensor* tensor : chosen) {
    out.write(tensor->bytes);
  }
  out.sync_and_close();
}

std::string write_resharded(const std::string& dir, const Manifest& manifest, const std::vector<LogicalTensor>& tensors,
                            int ranks) {
  FileCalls& calls = system_calls();
  const std::string temporary = temporary_of(dir, manifest.step);
  require_same_run(dir, run_of(manifest), manifest.step);
  make_directories(calls, dir);
  remove_tree(calls, temporary);
  make_directory(calls, temporary);
  std::vector<PieceBytes> pieces;
  std::vector<ShardReport> reports;
  for (int rank = 0; rank < ranks; ++rank) {
    pieces.clear();
    for (const LogicalTensor& tensor : tensors) {
      const int64_t numel = tensor.shape.numel(), begin = numel / ranks * rank + std::min<int64_t>(rank, numel % ranks);
      const int64_t count = numel / ranks + (rank < numel % ranks ? 1 : 0);
      const size_t item = size_of(tensor.dtype);
      pieces.push_back({tensor.name, tensor.kind, tensor.shape, tensor.dtype, begin, count,
                        std::span(tensor.bytes).subspan(static_cast<size_t>(begin) * item, static_cast<size_t>(count) * item)});
    }
    reports.push_back(report_of(rank, write_shard(calls, temporary + "/" + shard_file_name(rank), pieces), pieces));
  }
  Manifest resharded = assemble_manifest(pieces, reports);
  resharded.step = manifest.step;
  resharded.meta = manifest.meta;
  publish_checkpoint(calls, dir, manifest.step, manifest_to_json(resharded));
  return dir + "/" + checkpoint_name(manifest.step);
}

}  // namespace ringlet
