#include "dist/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "dist/checkpoint/durable_file.h"
#include "dist/checkpoint/safetensors.h"
#include "dist/checkpoint/sha256.h"
#include "tensor/base/check.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

std::string entry_name(const std::string& kind, const std::string& name, int64_t begin, bool whole) {
  return whole ? message("{}/{}", kind, name) : message("{}/{}@{}", kind, name, begin);
}

// The exponent of all ones is what infinities and NaNs have in common.
template <typename Word>
int64_t first_not_finite(std::span<const std::byte> elements, Word exponent) {
  const auto n = static_cast<int64_t>(elements.size() / sizeof(Word));
  for (int64_t i = 0; i < n; ++i) {
    Word word;
    std::memcpy(&word, elements.data() + static_cast<size_t>(i) * sizeof(Word), sizeof(Word));
    if ((word & exponent) == exponent) {
      return i;
    }
  }
  return -1;
}

// What of a file in parts is its header.
void add_to_head(std::span<const std::byte> part, std::vector<std::byte>& head) {
  for (size_t wanted = 0; (wanted = safetensors_head_bytes(head)) > head.size() && !part.empty();) {
    const size_t taken = std::min(wanted - head.size(), part.size());
    head.insert(head.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(taken));
    part = part.subspan(taken);
  }
}

void check_entries(const SafetensorsHeader& header, const Manifest& manifest, int rank, const std::string& path) {
  std::map<std::string, SafetensorsEntry> entries;
  for (const SafetensorsEntry& entry : header.tensors) {
    entries.emplace(entry.name, entry);
  }
  size_t expected = 0;
  for (const TensorRecord& tensor : manifest.tensors) {
    for (const PieceRecord& piece : tensor.pieces) {
      if (piece.rank == rank && piece.count > 0) {
        const auto found = entries.find(entry_name(tensor.kind, tensor.name, piece.begin, piece.count == tensor.shape.numel()));
        check<DataError>(found != entries.end() && found->second.dtype == tensor.dtype && found->second.begin == piece.offset &&
                             found->second.shape.numel() == piece.count,
                         "{}: must hold {} elements of {} {} at byte {} as its manifest says", path, piece.count, tensor.kind,
                         tensor.name, piece.offset);
        ++expected;
      }
    }
  }
  check<DataError>(entries.size() == expected, "{}: must hold the {} tensors of its manifest, got {}", path, expected,
                   entries.size());
}

}  // namespace

void check_finite(std::string_view who, DType dtype, std::span<const std::byte> elements) {
  int64_t at = -1;
  switch (dtype) {
    case DType::F32: at = first_not_finite<uint32_t>(elements, 0x7f800000U); break;
    case DType::F64: at = first_not_finite<uint64_t>(elements, 0x7ff0000000000000ULL); break;
    case DType::BF16: at = first_not_finite<uint16_t>(elements, 0x7f80U); break;
    default: break;
  }
  check<DataError>(at < 0, "{}: every value must be finite, element {} is not", who, at);
}

WrittenShard write_shard(FileCalls& calls, const std::string& path, std::span<const PieceBytes> pieces) {
  SafetensorsHeader header;
  header.metadata["format"] = "ringlet";
  for (const PieceBytes& piece : pieces) {
    if (piece.count > 0) {
      const bool whole = piece.count == piece.full_shape.numel();
      header.tensors.push_back({entry_name(piece.kind, piece.name, piece.begin, whole), piece.dtype,
                                whole ? piece.full_shape : Shape{piece.count}, 0, 0});
    }
  }
  const std::string head = make_safetensors_header(header);
  DurableFile file(calls, path);
  Sha256 sha256;
  StreamHash xxh3;
  const auto put = [&](std::span<const std::byte> bytes) {
    sha256.update(bytes);
    xxh3.update(bytes);
    file.write(bytes);
  };
  put(std::as_bytes(std::span(head)));
  WrittenShard written{static_cast<int64_t>(head.size()), {}, 0, {}};
  for (const PieceBytes& piece : pieces) {
    written.offsets.push_back(piece.count > 0 ? written.bytes : 0);
    put(piece.bytes);
    written.bytes += static_cast<int64_t>(piece.bytes.size());
  }
  file.sync_and_close();
  written.sha256 = sha256.finish();
  written.xxh3 = xxh3.value();
  return written;
}

void read_shard(const std::string& directory, const Manifest& manifest, int rank, HashKind kind, const SeePart& see) {
  const ShardRecord& record = manifest.shards[static_cast<size_t>(rank)];
  const std::string path = directory + "/" + record.file;
  const bool fast = kind == HashKind::Fast;
  Sha256 sha256;
  StreamHash xxh3;
  std::vector<std::byte> head;
  const int64_t length = read_in_parts(path, record.bytes, [&](int64_t offset, std::span<const std::byte> part) {
    fast ? xxh3.update(part) : sha256.update(part);
    add_to_head(part, head);
    see(offset, part);
  });
  check<DataError>(length == record.bytes, "{}: must be {} bytes long, got {}: it is truncated", path, record.bytes, length);
  const std::string hash = fast ? hex_of(xxh3.value()) : sha256.finish();
  const std::string& wanted = fast ? record.xxh3 : record.sha256;
  check<DataError>(hash == wanted, "{}: its {} must be {}, got {}: it has been altered", path, fast ? "xxHash3" : "SHA-256",
                   wanted, hash);
  check_entries(parse_safetensors_header(head, record.bytes, path), manifest, rank, path);
}

void copy_common(int64_t offset, std::span<const std::byte> part, int64_t begin, int64_t count, std::byte* to) {
  const int64_t from = std::max(offset, begin);
  const int64_t end = std::min(offset + static_cast<int64_t>(part.size()), begin + count);
  if (from < end) {
    std::memcpy(to + (from - begin), part.data() + (from - offset), static_cast<size_t>(end - from));
  }
}

}  // namespace ringlet
