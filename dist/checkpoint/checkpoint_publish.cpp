#include "dist/checkpoint/checkpoint_publish.h"

#include <algorithm>
#include <chrono>

#include "dist/checkpoint/checkpoint_directory.h"
#include "dist/checkpoint/durable_file.h"
#include "tensor/base/build_info.h"
#include "tensor/base/check.h"

namespace ringlet {

std::string temporary_of(const std::string& dir, int64_t step) { return dir + "/" + checkpoint_name(step) + ".tmp"; }

ShardReport report_of(int rank, const WrittenShard& written, std::span<const PieceBytes> pieces) {
  ShardReport report{written.bytes, written.sha256, written.xxh3, {}};
  for (size_t i = 0; i < pieces.size(); ++i) {
    report.pieces.push_back({rank, written.offsets[i], pieces[i].begin, pieces[i].count});
  }
  return report;
}

Manifest assemble_manifest(std::span<const PieceBytes> pieces, std::span<const ShardReport> reports) {
  Manifest manifest{.world_size = static_cast<int>(reports.size())};
  for (const PieceBytes& piece : pieces) {
    manifest.tensors.push_back({piece.name, piece.kind, piece.full_shape, piece.dtype, {}});
  }
  int64_t offset = 0;
  for (int rank = 0; rank < manifest.world_size; ++rank) {
    const ShardReport& report = reports[static_cast<size_t>(rank)];
    ShardRecord shard{rank, shard_file_name(rank), offset, 0, report.bytes, report.sha256, hex_of(report.xxh3)};
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (report.pieces[i].count > 0) {
        manifest.tensors[i].pieces.push_back(report.pieces[i]);
        shard.elements += report.pieces[i].count;
      }
    }
    offset += shard.elements;
    manifest.shards.push_back(std::move(shard));
  }
  for (TensorRecord& tensor : manifest.tensors) {
    std::sort(tensor.pieces.begin(), tensor.pieces.end(),
              [](const PieceRecord& a, const PieceRecord& b) { return a.begin < b.begin; });
  }
  const BuildInfo build = build_info();
  manifest.build = {{"version", build.version}, {"commit", build.commit},       {"compiler", build.compiler},
                    {"flags", build.flags},     {"cpu_level", build.cpu_level}, {"build_type", build.build_type}};
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  manifest.wall_clock_seconds = now.count();
  return manifest;
}

// [snippet: publish]
// From here on the order of system calls is the proof: nothing is named before it is durable.
void publish_checkpoint(FileCalls& calls, const std::string& dir, int64_t step, const std::string& manifest) {
  const std::string temporary = temporary_of(dir, step), latest = dir + "/latest";
  DurableFile file(calls, temporary + "/manifest.json");
  file.write(manifest);
  file.sync_and_close();
  sync_directory(calls, temporary);
  replace(calls, temporary, dir + "/" + checkpoint_name(step), dir);  // and fsync `dir`

  remove_tree(calls, latest + ".tmp");
  DurableFile pointer(calls, latest + ".tmp");
  pointer.write(checkpoint_name(step) + "\n");
  pointer.sync_and_close();
  replace(calls, latest + ".tmp", latest, dir);
}
// [/snippet]

void copy_checkpoint(FileCalls& calls, const std::string& path, const std::string& dir, int64_t keep) {
  const std::string text = read_manifest_text(path);
  const Manifest manifest = parse_manifest_of(path, text);
  const std::string target = dir + "/" + checkpoint_name(manifest.step), temporary = temporary_of(dir, manifest.step);
  try {
    if (read_manifest_text(target) == text) {
      return;
    }
  } catch (const DataError&) {  // NOLINT(bugprone-empty-catch): it is not there yet
  }
  require_same_run(dir, run_of(manifest), manifest.step);
  make_directories(calls, dir);
  remove_tree(calls, temporary);
  make_directory(calls, temporary);
  for (const ShardRecord& shard : manifest.shards) {
    DurableFile file(calls, temporary + "/" + shard.file);
    read_shard(path, manifest, shard.rank, HashKind::Sha256,
               [&](int64_t, std::span<const std::byte> part) { file.write(part); });
    file.sync_and_close();
  }
  publish_checkpoint(calls, dir, manifest.step, text);
  prune_checkpoints(calls, dir, manifest.step, keep, run_of(manifest));
}

}  // namespace ringlet
