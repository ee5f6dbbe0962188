#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "dist/agreement.h"
#include "dist/checkpoint/checkpoint_files.h"
#include "dist/checkpoint/durable_file.h"
#include "dist/sharded_checkpoint.h"

namespace ringlet {
namespace {

using TensorKey = std::pair<std::string, std::string>;  // kind, name
using Catalogue = std::map<TensorKey, const TensorRecord*>;

// One kind of disagreement: how often, and the first few by name.
class Disagreement {
 public:
  void add(const std::string& what) {
    if (++count_ <= kShown) {
      shown_ += (count_ == 1 ? "" : ", ") + what;
    }
  }
  std::string text(std::string_view kind) const {
    return count_ == 0 ? "" : message("; {} {} ({}{})", count_, kind, shown_, count_ > kShown ? ", ..." : "");
  }

 private:
  static constexpr int64_t kShown = 3;
  std::string shown_;
  int64_t count_ = 0;
};

void check_fits(const Catalogue& saved, std::span<const StatePiece> wanted, const std::string& path) {
  Disagreement missing, unexpected, shape, dtype;
  std::map<TensorKey, const StatePiece*> known;
  for (const StatePiece& piece : wanted) {
    const std::string who = piece.kind + " of " + piece.name;
    known[{piece.kind, piece.name}] = &piece;
    const auto found = saved.find({piece.kind, piece.name});
    if (found == saved.end()) {
      missing.add(who);
    } else if (found->second->shape != piece.full_shape) {
      shape.add(message("{}: {} for {}", who, found->second->shape, piece.full_shape));
    } else if (found->second->dtype != piece.data.dtype()) {
      dtype.add(message("{}: {} for {}", who, found->second->dtype, piece.data.dtype()));
    }
  }
  for (const auto& [key, record] : saved) {
    if (!known.contains(key)) {
      unexpected.add(key.first + " of " + key.second);
    }
  }
  const std::string found =
      missing.text("missing") + unexpected.text("unexpected") + shape.text("of another shape") + dtype.text("of another dtype");
  check<DataError>(found.empty(), "{}: does not fit this model and optimizer, which stay as they were: {}", path,
                   found.empty() ? "" : found.substr(2));
}

// The part of [begin, begin + count) of a saved piece that `wanted` asks for.
struct Common {
  Common(const PieceRecord& saved, const StatePiece& wanted)
      : begin(std::max(saved.begin, wanted.begin)),
        end(std::min(saved.begin + saved.count, wanted.begin + wanted.data.numel())) {}
  bool empty() const { return begin >= end; }
  int64_t begin, end;
};

// All that this rank wants, out of files that have been verified, in memory of its own. A file that it does not need is
// verified too if it is this rank's turn, so that no altered file passes because nobody looked.
class Staging {
 public:
  Staging(const std::string& path, const Manifest& manifest, const Catalogue& saved, std::span<const StatePiece> wanted,
          const Communicator& comm)
      : wanted_(wanted), staged_(wanted.size()) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      staged_[i].resize(static_cast<size_t>(wanted[i].data.bytes()));
    }
    for (int rank = 0; rank < manifest.world_size; ++rank) {
      if (rank % comm.size() == comm.rank() || needs(rank, saved)) {
        stage(path, manifest, rank, saved);
      }
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      check_finite(message("{}: {} of {}", path, wanted[i].kind, wanted[i].name), wanted[i].data.dtype(), staged_[i]);
    }
  }

  void copy_out() const {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      Tensor data = wanted_[i].data;
      data.write_bytes(staged_[i].data());
    }
  }

 private:
  template <typename Visit>
  void for_each_common(int rank, const Catalogue& saved, Visit&& visit) const {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      for (const PieceRecord& piece : saved.at({wanted_[i].kind, wanted_[i].name})->pieces) {
        if (const Common common(piece, wanted_[i]); piece.rank == rank && !common.empty()) {
          visit(i, piece, common);
        }
      }
    }
  }

  bool needs(int rank, const Catalogue& saved) const {
    bool any = false;
    for_each_common(rank, saved, [&](size_t, const PieceRecord&, const Common&) { any = true; });
    return any;
  }

  // What of a file is wanted, as ranges: in the file, and where their bytes go.
  struct Range {
    int64_t offset, bytes;
    std::byte* to;
  };

  // The file passes by in parts, whoever wrote it and however much of the model it holds.
  void stage(const std::string& path, const Manifest& manifest, int rank, const Catalogue& saved) {
    std::vector<Range> ranges;
    for_each_common(rank, saved, [&](size_t i, const PieceRecord& piece, const Common& common) {
      const auto item = static_cast<int64_t>(size_of(wanted_[i].data.dtype()));
      ranges.push_back({piece.offset + (common.begin - piece.begin) * item, (common.end - common.begin) * item,
                        staged_[i].data() + (common.begin - wanted_[i].begin) * item});
    });
    read_shard(path, manifest, rank, HashKind::Sha256, [&](int64_t offset, std::span<const std::byte> part) {
      for (const Range& range : ranges) {
        copy_common(offset, part, range.offset, range.bytes, range.to);
      }
    });
  }

  std::span<const StatePiece> wanted_;
  std::vector<std::vector<std::byte>> staged_;
};

}  // namespace

Manifest read_manifest(const std::string& path, Communicator& comm) {
  std::string text;
  do_together<CheckpointError>(comm, [&] { text = comm.rank() == 0 ? read_manifest_text(path) : ""; });
  text = broadcast_text(comm, text, 0);  // all ranks go by the same text
  Manifest manifest;
  do_together<CheckpointError>(comm, [&] { manifest = parse_manifest_of(path, text); });
  return manifest;
}

Manifest load_checkpoint(const std::string& path, std::span<const StatePiece> pieces, Communicator& comm) {
  const Manifest manifest = read_manifest(path, comm);
  Catalogue saved;
  for (const TensorRecord& tensor : manifest.tensors) {
    saved[{tensor.kind, tensor.name}] = &tensor;
  }
  std::optional<Staging> staging;
  do_together<CheckpointMismatch>(comm, [&] { check_fits(saved, pieces, path); });
  do_together<CheckpointError>(comm, [&] { staging.emplace(path, manifest, saved, pieces, comm); });
  staging->copy_out();
  return manifest;
}

std::optional<FoundCheckpoint> find_latest(const std::string& dir, Communicator& comm) {
  FoundCheckpoint found = comm.rank() == 0 ? find_latest(dir).value_or(FoundCheckpoint{}) : FoundCheckpoint{};
  found.path = broadcast_text(comm, found.path, 0);
  found.note = broadcast_text(comm, found.note, 0);
  return found.path.empty() ? std::nullopt : std::optional(std::move(found));
}

std::vector<std::string> earlier_checkpoints(const std::string& dir, int64_t step, Communicator& comm) {
  std::string joined;
  const std::vector<int64_t> steps = comm.rank() == 0 ? complete_steps(dir) : std::vector<int64_t>();
  for (auto earlier = steps.rbegin(); earlier != steps.rend(); ++earlier) {
    joined += *earlier < step ? checkpoint_name(*earlier) + "\n" : "";
  }
  joined = broadcast_text(comm, joined, 0);
  std::vector<std::string> paths;
  for (size_t begin = 0, end = 0; (end = joined.find('\n', begin)) != std::string::npos; begin = end + 1) {
    paths.push_back(dir + "/" + joined.substr(begin, end - begin));
  }
  return paths;
}

}  // namespace ringlet
