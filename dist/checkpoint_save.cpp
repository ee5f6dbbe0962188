#include <algorithm>
#include <array>
#include <chrono>

#include "collectives/control_scope.h"
#include "dist/agreement.h"
#include "dist/checkpoint_files.h"
#include "dist/durable_file.h"
#include "dist/sharded_checkpoint.h"
#include "tensor/base/build_info.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

constexpr size_t kDigits = 64;

std::string describe(std::span<const StatePiece> pieces) {
  std::string text;
  for (const StatePiece& piece : pieces) {
    text += message("{}/{} {} {}\n", piece.kind, piece.name, piece.full_shape, piece.data.dtype());
  }
  return text;
}

void check_savable(std::span<const StatePiece> pieces) {
  for (const StatePiece& piece : pieces) {
    const std::string who = message("save_checkpoint: {} of {}", piece.kind, piece.name);
    check(piece.data.defined() && piece.data.rank() == 1 && piece.data.is_contiguous(), "{}: needs a contiguous 1-D piece",
          who);
    check(piece.begin >= 0 && piece.begin + piece.data.numel() <= piece.full_shape.numel(),
          "{}: a piece must lie within the {} elements of shape {}, got [{}, {})", who, piece.full_shape.numel(),
          piece.full_shape, piece.begin, piece.begin + piece.data.numel());
    check_finite(who, piece.data.dtype(), {piece.data.raw_data(), static_cast<size_t>(piece.data.bytes())});
  }
}

// Every rank lists the same logical tensors in the same order, so its part of the manifest is a row of numbers:
// the length of its file, then offset, begin and count of each piece. And the digits of a hash.
struct Rows {
  Rows(std::span<const StatePiece> pieces, const WrittenShard& mine, Communicator& comm) : length(1 + 3 * pieces.size()) {
    std::vector<int64_t> row{mine.bytes};
    for (size_t i = 0; i < pieces.size(); ++i) {
      row.insert(row.end(), {mine.offsets[i], pieces[i].begin, pieces[i].data.numel()});
    }
    const std::vector<uint8_t> digits(mine.sha256.begin(), mine.sha256.end());
    numbers.resize(static_cast<size_t>(comm.size()) * length);
    hashes.resize(static_cast<size_t>(comm.size()) * kDigits);
    const ControlScope control(comm);
    comm.all_gather(row, numbers);
    comm.all_gather(digits, hashes);
  }
  int64_t bytes(int rank) const { return of(rank)[0]; }
  PieceRecord piece(int rank, size_t i) const { return {rank, of(rank)[3 * i + 1], of(rank)[3 * i + 2], of(rank)[3 * i + 3]}; }
  std::string hash(int rank) const {
    const auto its = std::span(hashes).subspan(static_cast<size_t>(rank) * kDigits, kDigits);
    return {its.begin(), its.end()};
  }

 private:
  std::span<const int64_t> of(int rank) const { return std::span(numbers).subspan(static_cast<size_t>(rank) * length, length); }

  size_t length;
  std::vector<int64_t> numbers;
  std::vector<uint8_t> hashes;
};

Manifest assemble(std::span<const StatePiece> pieces, const Rows& rows, int ranks) {
  Manifest manifest{.world_size = ranks};
  for (const StatePiece& piece : pieces) {
    manifest.tensors.push_back({piece.name, piece.kind, piece.full_shape, piece.data.dtype(), {}});
  }
  int64_t offset = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    ShardRecord shard{rank, shard_file_name(rank), offset, 0, rows.bytes(rank), rows.hash(rank)};
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (const PieceRecord piece = rows.piece(rank, i); piece.count > 0) {
        manifest.tensors[i].pieces.push_back(piece);
        shard.elements += piece.count;
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
void publish(const std::string& dir, const std::string& temporary, int64_t step, const std::string& manifest) {
  DurableFile file(temporary + "/manifest.json");
  file.write(manifest);
  file.sync_and_close();
  sync_directory(temporary);
  replace(temporary, dir + "/" + checkpoint_name(step));
  sync_directory(dir);

  const std::string latest = dir + "/latest";
  remove_tree(latest + ".tmp");
  DurableFile pointer(latest + ".tmp");
  pointer.write(checkpoint_name(step) + "\n");
  pointer.sync_and_close();
  replace(latest + ".tmp", latest);
  sync_directory(dir);
}
// [/snippet]

void remove_quietly(const std::string& path) {
  try {
    remove_tree(path);
  } catch (const DataError&) {  // NOLINT(bugprone-empty-catch): the error that led here is the one to report
  }
}

}  // namespace

Manifest save_checkpoint(const std::string& dir, int64_t step, std::span<const StatePiece> pieces,
                         const std::map<std::string, std::string>& meta, Communicator& comm) {
  check(step >= 0, "save_checkpoint: the step must not be negative, got {}", step);
  check(same_on_all_ranks(comm, hash_text(describe(pieces))), "save_checkpoint: every rank must list the same logical tensors");
  const std::string temporary = dir + "/" + checkpoint_name(step) + ".tmp";
  do_together<CheckpointError>(comm, [&] { check_savable(pieces); });
  try {
    do_together<CheckpointError>(comm, [&] {
      if (comm.rank() == 0) {
        make_directories(dir);
        remove_tree(temporary);  // of a save that was interrupted
        make_directory(temporary);
      }
    });
    WrittenShard mine;
    do_together<CheckpointError>(comm, [&] { mine = write_shard(temporary + "/" + shard_file_name(comm.rank()), pieces); });
    Manifest manifest = assemble(pieces, Rows(pieces, mine, comm), comm.size());
    manifest.step = step;
    manifest.meta = meta;
    const std::string text = broadcast_text(comm, manifest_to_json(manifest), 0);  // with the clock and the meta of rank 0
    do_together<CheckpointError>(comm, [&] {
      manifest = parse_manifest(text, temporary + "/manifest.json");  // what would be refused later is never published
      if (comm.rank() == 0) {
        publish(dir, temporary, step, text);
      }
    });
    return manifest;
  } catch (const CheckpointError&) {
    if (comm.rank() == 0) {
      remove_quietly(temporary);
    }
    throw;
  }
}

}  // namespace ringlet
