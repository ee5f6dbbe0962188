#include "dist/checkpoint_save.h"

#include <utility>

#include "collectives/control_scope.h"
#include "dist/agreement.h"
#include "dist/checkpoint/checkpoint_directory.h"
#include "dist/checkpoint/checkpoint_publish.h"
#include "dist/checkpoint/durable_file.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

constexpr size_t kDigits = 64;

std::string describe(std::span<const PieceBytes> pieces) {
  std::string text;
  for (const PieceBytes& piece : pieces) {
    text += message("{}/{} {} {}\n", piece.kind, piece.name, piece.full_shape, piece.dtype);
  }
  return text;
}

std::string name_of(const PieceBytes& piece) { return message("save_checkpoint: {} of {}", piece.kind, piece.name); }

void check_ranges(std::span<const PieceBytes> pieces) {
  for (const PieceBytes& piece : pieces) {
    check(piece.begin >= 0 && piece.begin + piece.count <= piece.full_shape.numel(),
          "{}: a piece must lie within the {} elements of shape {}, got [{}, {})", name_of(piece), piece.full_shape.numel(),
          piece.full_shape, piece.begin, piece.begin + piece.count);
  }
}

void check_values(std::span<const PieceBytes> pieces) {
  for (const PieceBytes& piece : pieces) {
    check_finite(name_of(piece), piece.dtype, piece.bytes);
  }
}

// Every rank lists the same logical tensors in the same order, so what it has to tell is a row of numbers: the length of its file, its
// xxHash, then offset, begin and count of each piece. And the digits of the SHA-256.
std::vector<ShardReport> gather_reports(const ShardReport& mine, Communicator& comm) {
  const ControlScope control(comm);
  const size_t length = 2 + 3 * mine.pieces.size(), ranks = static_cast<size_t>(comm.size());
  std::vector<int64_t> row{mine.bytes, static_cast<int64_t>(mine.xxh3)}, rows(ranks * length);
  for (const PieceRecord& piece : mine.pieces) {
    row.insert(row.end(), {piece.offset, piece.begin, piece.count});
  }
  const std::vector<uint8_t> digits(mine.sha256.begin(), mine.sha256.end());
  std::vector<uint8_t> hashes(ranks * kDigits);
  comm.all_gather(row, rows);
  comm.all_gather(digits, hashes);
  std::vector<ShardReport> reports;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const auto numbers = std::span(rows).subspan(rank * length, length);
    const auto hash = std::span(hashes).subspan(rank * kDigits, kDigits);
    ShardReport& report = reports.emplace_back();
    report = {numbers[0], {hash.begin(), hash.end()}, static_cast<uint64_t>(numbers[1]), {}};
    for (size_t i = 2; i < length; i += 3) {
      report.pieces.push_back({static_cast<int>(rank), numbers[i], numbers[i + 1], numbers[i + 2]});
    }
  }
  return reports;
}

void remove_quietly(FileCalls& calls, const std::string& path) {
  try {
    remove_tree(calls, path);
  } catch (const DataError&) {  // NOLINT(bugprone-empty-catch): the error that led here is the one to report
  }
}

}  // namespace

std::vector<PieceBytes> bytes_of(std::span<const StatePiece> pieces) {
  std::vector<PieceBytes> all;
  for (const StatePiece& piece : pieces) {
    check(piece.data.defined() && piece.data.rank() == 1 && piece.data.is_contiguous(),
          "save_checkpoint: {} of {}: needs a contiguous 1-D piece", piece.kind, piece.name);
    all.push_back({piece.name, piece.kind, piece.full_shape, piece.data.dtype(), piece.begin, piece.data.numel(), {}, nullptr});
    if (piece.data.device() == Device{}) {
      all.back().bytes = {piece.data.raw_data(), static_cast<size_t>(piece.data.bytes())};
    } else {
      auto fetched = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(piece.data.bytes()));
      piece.data.read_bytes(fetched->data());
      all.back().bytes = *fetched;
      all.back().copy = std::move(fetched);
    }
  }
  return all;
}

Errand::~Errand() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Errand::start(bool behind, std::function<void()> work) {
  fault_.clear();
  done_.store(false, std::memory_order_relaxed);
  const auto run = [this, work = std::move(work)] {
    try {
      work();
    } catch (const std::exception& error) {
      fault_ = *error.what() == 0 ? "an error without a text" : error.what();
    }
    done_.store(true, std::memory_order_release);
  };
  if (behind) {
    thread_ = std::thread(run);
  } else {
    run();
  }
}

std::string Errand::fault() {
  if (thread_.joinable()) {
    thread_.join();
  }
  return std::exchange(fault_, {});
}

CheckpointSave::CheckpointSave(std::string dir, int64_t step, std::vector<PieceBytes> pieces,
                               std::map<std::string, std::string> meta, Communicator& comm, const SaveOptions& options)
    : dir_(std::move(dir)),
      temporary_(temporary_of(dir_, step)),
      step_(step),
      pieces_(std::move(pieces)),
      meta_(std::move(meta)),
      comm_(comm),
      options_(options) {
  check(step >= 0, "save_checkpoint: the step must not be negative, got {}", step);
  check(same_on_all_ranks(comm, hash_text(describe(pieces_))),
        "save_checkpoint: every rank must list the same logical tensors");
  do_together<CheckpointError>(comm, [&] { check_ranges(pieces_); });
  do_together<StateNotFinite>(comm, [&] { check_values(pieces_); });
  or_clean_up([&] { begin(); });
}

CheckpointSave::~CheckpointSave() = default;

template <typename Work>
void CheckpointSave::or_clean_up(Work&& work) {
  try {
    work();
  } catch (const CheckpointError&) {
    if (comm_.rank() == 0) {
      remove_quietly(*options_.calls, temporary_);
    }
    throw;
  }
}

void CheckpointSave::begin() {
  do_together<CheckpointError>(comm_, [&] {
    if (comm_.rank() == 0) {
      make_directories(*options_.calls, dir_);
      remove_tree(*options_.calls, temporary_);  // of a save that was interrupted
      make_directory(*options_.calls, temporary_);
    }
  });
  errand_.start(options_.behind,
                [this] { mine_ = write_shard(*options_.calls, temporary_ + "/" + shard_file_name(comm_.rank()), pieces_); });
}

void CheckpointSave::start_publishing() {
  manifest_ = assemble_manifest(pieces_, gather_reports(report_of(comm_.rank(), mine_, pieces_), comm_));
  manifest_.step = step_;
  manifest_.meta = meta_;
  const std::string text = broadcast_text(comm_, manifest_to_json(manifest_), 0);  // with the clock and the meta of rank 0
  do_together<CheckpointError>(comm_, [&] {
    manifest_ = parse_manifest(text, temporary_ + "/manifest.json");  // what would be refused later is never published
  });
  phase_ = Phase::Publishing;
  if (comm_.rank() == 0) {
    errand_.start(options_.behind, [this, text] {
      publish_checkpoint(*options_.calls, dir_, step_, text);
      try {
        prune_checkpoints(*options_.calls, dir_, step_, options_.keep, run_of(manifest_));
      } catch (const DataError& error) {  // the checkpoint is complete all the same
        note_ = error.what();
      }
    });
  }
}

bool CheckpointSave::go_on() {
  or_clean_up([&] {
    if (const std::string fault = agree_on_fault(comm_, errand_.fault()); !fault.empty()) {
      throw CheckpointError(fault);
    }
    if (phase_ == Phase::Writing) {
      start_publishing();
    } else {
      phase_ = Phase::Complete;
    }
  });
  return phase_ == Phase::Complete;
}

SavedCheckpoint CheckpointSave::finish() {
  while (phase_ != Phase::Complete) {
    static_cast<void>(go_on());
  }
  return {dir_ + "/" + checkpoint_name(step_), manifest_, note_};
}

SavedCheckpoint save_checkpoint(const std::string& dir, int64_t step, std::span<const StatePiece> pieces,
                                const std::map<std::string, std::string>& meta, Communicator& comm,
                                const SaveOptions& options) {
  return CheckpointSave(dir, step, bytes_of(pieces), meta, comm, options).finish();
}

}  // namespace ringlet
