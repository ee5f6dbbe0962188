#include "dist/checkpoint/checkpoint_manifest.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "dist/checkpoint/durable_file.h"
#include "dist/checkpoint/sha256.h"
#include "dist/checkpoint/strict_json.h"
#include "tensor/base/check.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "ringlet.checkpoint";
// The last field, behind the bytes that it vouches for.
constexpr std::string_view kSealBegin = ",\n \"manifest_sha256\": \"";
constexpr std::string_view kSealEnd = "\"\n}\n";
constexpr size_t kDigits = 64;
constexpr int64_t kMaxManifest = int64_t{1} << 30;
constexpr std::string_view kStepPrefix = "step_";
constexpr size_t kStepDigits = 8;

Json to_json(const ShardRecord& shard) {
  return {{"rank", shard.rank},   {"file", shard.file},     {"offset", shard.offset}, {"elements", shard.elements},
          {"bytes", shard.bytes}, {"sha256", shard.sha256}, {"xxh3", shard.xxh3}};
}

Json to_json(const TensorRecord& tensor) {
  const auto dims = tensor.shape.dims();
  Json pieces = Json::array();
  for (const PieceRecord& piece : tensor.pieces) {
    pieces.push_back({{"rank", piece.rank}, {"offset", piece.offset}, {"begin", piece.begin}, {"count", piece.count}});
  }
  return {{"name", tensor.name},
          {"kind", tensor.kind},
          {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
          {"dtype", name_of(tensor.dtype)},
          {"pieces", pieces}};
}

std::optional<DType> dtype_named(const std::string& name) {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::U8}) {
    if (name == name_of(dtype)) {
      return dtype;
    }
  }
  return std::nullopt;
}

// Reads fields of one object and remembers where it is, for messages: "FILE: tensors[3].shape must be …".
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    check<DataError>(json.is_object(), "{}: must be an object", where_);
  }

  const Json& at(const char* name) const {
    check<DataError>(json_.contains(name), "{}: lacks {}", where_, name);
    return json_[name];
  }
  int64_t whole(const char* name, int64_t most = INT64_MAX) const { return whole(at(name), name, most); }
  std::string text(const char* name) const {
    check<DataError>(at(name).is_string(), "{}: {} must be a text", where_, name);
    return at(name).get<std::string>();
  }
  double number(const char* name) const {
    check<DataError>(at(name).is_number(), "{}: {} must be a number", where_, name);
    return at(name).get<double>();
  }
  const Json& list(const char* name) const {
    check<DataError>(at(name).is_array(), "{}: {} must be a list", where_, name);
    return at(name);
  }
  std::map<std::string, std::string> texts(const char* name) const {
    const Fields inner(at(name), where_ + "." + name);
    std::map<std::string, std::string> all;
    for (const auto& [key, value] : inner.json_.items()) {
      all[key] = inner.text(key.c_str());
    }
    return all;
  }
  Shape shape(const char* name) const {
    std::vector<int64_t> extents;
    int64_t product = 1;
    for (const Json& extent : list(name)) {
      extents.push_back(whole(extent, name, INT64_MAX));
      check<DataError>(!__builtin_mul_overflow(product, extents.back(), &product), "{}: {} has too many elements", where_,
                       name);
    }
    check<DataError>(extents.size() <= kMaxDims, "{}: {} must have at most {} extents", where_, name, kMaxDims);
    return Shape(extents);
  }

 private:
  int64_t whole(const Json& json, const char* name, int64_t most) const {
    check<DataError>(json.is_number_unsigned() && json.get<uint64_t>() <= static_cast<uint64_t>(most),
                     "{}: {} must be a whole number from 0 to {}, got {}", where_, name, most, json.dump());
    return json.get<int64_t>();
  }

  const Json& json_;
  std::string where_;
};

// The JSON without its seal, if the seal is unbroken.
std::string unsealed(std::string_view text, std::string_view path) {
  const size_t seal = kSealBegin.size() + kDigits + kSealEnd.size();
  const bool sealed =
      text.size() > seal && text.ends_with(kSealEnd) && text.substr(text.size() - seal, kSealBegin.size()) == kSealBegin;
  check<DataError>(sealed, "{}: must end with manifest_sha256, the file is truncated or no manifest", path);
  const std::string_view body = text.substr(0, text.size() - seal);
  const std::string_view wanted = text.substr(text.size() - seal + kSealBegin.size(), kDigits);
  const std::string got = sha256(body);
  check<DataError>(got == wanted, "{}: the SHA-256 of the manifest must be {}, got {}: it has been altered", path, wanted, got);
  return std::string(body) + "\n}\n";
}

std::vector<ShardRecord> read_shards(const Json& list, int world_size, const std::string& path) {
  check<DataError>(list.size() == static_cast<size_t>(world_size), "{}: needs one shard for each of {} ranks, got {}", path,
                   world_size, list.size());
  std::vector<ShardRecord> shards;
  int64_t offset = 0;
  for (int rank = 0; rank < world_size; ++rank) {
    const std::string where = message("{}: shards[{}]", path, rank);
    const Fields fields(list[static_cast<size_t>(rank)], where);
    ShardRecord shard{static_cast<int>(fields.whole("rank", INT32_MAX)),
                      fields.text("file"),
                      fields.whole("offset"),
                      fields.whole("elements"),
                      fields.whole("bytes"),
                      fields.text("sha256"),
                      fields.text("xxh3")};
    check<DataError>(shard.rank == rank, "{}: shards must be in the order of ranks, got rank {}", where, shard.rank);
    // Nothing but the one possible name: no path, no "..", no link to somewhere else can hide in it.
    check<DataError>(shard.file == shard_file_name(rank), "{}: file must be the plain name {}, got '{}'", where,
                     shard_file_name(rank), shard.file);
    check<DataError>(shard.offset == offset, "{}: offset must be {}, the elements before it, got {}", where, offset,
                     shard.offset);
    check<DataError>(!__builtin_add_overflow(offset, shard.elements, &offset), "{}: too many elements", where);
    shards.push_back(std::move(shard));
  }
  return shards;
}

void read_pieces(const Json& list, const std::vector<ShardRecord>& shards, const std::string& where, TensorRecord& tensor) {
  const auto item = static_cast<int64_t>(size_of(tensor.dtype));
  int64_t end = 0;
  for (const Json& json : list) {
    const Fields fields(json, where);
    const auto rank = fields.whole("rank", static_cast<int64_t>(shards.size()) - 1);
    const PieceRecord piece{static_cast<int>(rank), fields.whole("offset"), fields.whole("begin"), fields.whole("count")};
    check<DataError>(piece.begin == end, "{}: pieces must touch without hole or overlap, got one at {} instead of {}", where,
                     piece.begin, end);
    const int64_t room = shards[static_cast<size_t>(rank)].bytes - piece.offset;
    check<DataError>(room >= 0 && piece.count <= room / item, "{}: {} elements at byte {} do not fit into {}", where,
                     piece.count, piece.offset, shards[static_cast<size_t>(rank)].file);
    check<DataError>(!__builtin_add_overflow(end, piece.count, &end), "{}: too many elements", where);
    tensor.pieces.push_back(piece);
  }
  check<DataError>(end == tensor.shape.numel(), "{}: pieces must cover all {} elements of shape {}, got {}", where,
                   tensor.shape.numel(), tensor.shape, end);
}

std::vector<TensorRecord> read_tensors(const Json& list, const std::vector<ShardRecord>& shards, const std::string& path) {
  std::vector<TensorRecord> tensors;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Json& json : list) {
    const std::string where = message("{}: tensors[{}]", path, tensors.size());
    const Fields fields(json, where);
    TensorRecord tensor{fields.text("name"), fields.text("kind"), fields.shape("shape"), DType::F32, {}};
    const auto dtype = dtype_named(fields.text("dtype"));
    check<DataError>(dtype.has_value(), "{}: unknown dtype '{}'", where, fields.text("dtype"));
    tensor.dtype = *dtype;
    check<DataError>(seen.emplace(tensor.kind, tensor.name).second, "{}: {} of {} stands twice", where, tensor.kind,
                     tensor.name);
    read_pieces(fields.list("pieces"), shards, where + " (" + tensor.name + ")", tensor);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

std::string shard_file_name(int rank) {
  const std::string digits = std::to_string(rank);
  return "rank_" + std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits + ".safetensors";
}

std::string manifest_to_json(const Manifest& manifest) {
  Json json = {{"format", kFormat},
               {"schema_version", manifest.schema_version},
               {"step", manifest.step},
               {"world_size", manifest.world_size},
               {"wall_clock_seconds", manifest.wall_clock_seconds},
               {"build", manifest.build},
               {"meta", manifest.meta},
               {"shards", Json::array()},
               {"tensors", Json::array()}};
  for (const ShardRecord& shard : manifest.shards) {
    json["shards"].push_back(to_json(shard));
  }
  for (const TensorRecord& tensor : manifest.tensors) {
    json["tensors"].push_back(to_json(tensor));
  }
  std::string body = json.dump(1);
  body.resize(body.size() - 2);  // "\n}"
  return body + std::string(kSealBegin) + sha256(body) + std::string(kSealEnd);
}

std::string run_of(const Manifest& manifest) {
  const auto found = manifest.meta.find("run");
  return found == manifest.meta.end() ? "" : found->second;
}

std::string checkpoint_name(int64_t step) {
  const std::string digits = std::to_string(step);
  return std::string(kStepPrefix) + std::string(digits.size() < kStepDigits ? kStepDigits - digits.size() : 0, '0') + digits;
}

int64_t step_of_name(std::string_view name) {
  int64_t step = 0;
  for (const char c : name.substr(std::min(kStepPrefix.size(), name.size()))) {
    if (c < '0' || c > '9' || __builtin_mul_overflow(step, 10, &step) || __builtin_add_overflow(step, c - '0', &step)) {
      return -1;
    }
  }
  return name == checkpoint_name(step) ? step : -1;
}

std::string hex_of(uint64_t hash) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[hash >> shift & 15U];
  }
  return digits;
}

std::string read_manifest_text(const std::string& path) {
  const std::vector<std::byte> bytes = read_regular_file(path + "/manifest.json", kMaxManifest);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Manifest parse_manifest_of(const std::string& path, std::string_view text) {
  Manifest manifest = parse_manifest(text, path + "/manifest.json");
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  const int64_t step = step_of_name((normal.has_filename() ? normal : normal.parent_path()).filename().string());
  check<DataError>(step < 0 || step == manifest.step, "{}: is the manifest of step {}: it belongs elsewhere",
                   path + "/manifest.json", manifest.step);
  return manifest;
}

Manifest read_manifest_file(const std::string& path) { return parse_manifest_of(path, read_manifest_text(path)); }

Manifest parse_manifest(std::string_view text, std::string_view path) {
  const std::string body = unsealed(text, path);
  check_json(body, 8, path);
  const Json json = Json::parse(body);
  const std::string file(path);
  const Fields fields(json, file);
  check<DataError>(fields.text("format") == kFormat, "{}: format must be {}, got '{}'", path, kFormat, fields.text("format"));
  Manifest manifest;
  manifest.schema_version = fields.whole("schema_version");
  check<DataError>(manifest.schema_version == Manifest::kSchemaVersion, "{}: this program reads schema version {}, got {}",
                   path, Manifest::kSchemaVersion, manifest.schema_version);
  manifest.step = fields.whole("step");
  manifest.world_size = static_cast<int>(fields.whole("world_size", 1 << 20));
  check<DataError>(manifest.world_size > 0, "{}: world_size must be positive", path);
  manifest.wall_clock_seconds = fields.number("wall_clock_seconds");
  manifest.build = fields.texts("build");
  manifest.meta = fields.texts("meta");
  manifest.shards = read_shards(fields.list("shards"), manifest.world_size, file);
  manifest.tensors = read_tensors(fields.list("tensors"), manifest.shards, file);
  return manifest;
}

}  // namespace ringlet
