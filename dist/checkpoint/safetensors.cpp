#include "dist/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "dist/checkpoint/strict_json.h"
#include "tensor/base/check.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr size_t kLengthBytes = 8;
constexpr size_t kAlignment = 64;

constexpr std::array<std::pair<DType, std::string_view>, 6> kDTypeNames{{{DType::F32, "F32"},
                                                                         {DType::F64, "F64"},
                                                                         {DType::BF16, "BF16"},
                                                                         {DType::I32, "I32"},
                                                                         {DType::I64, "I64"},
                                                                         {DType::U8, "U8"}}};

std::string_view format_name(DType dtype) {
  return std::find_if(kDTypeNames.begin(), kDTypeNames.end(), [&](const auto& row) { return row.first == dtype; })->second;
}

// The JSON of one tensor, checked field by field. `who` reads "FILE: tensor NAME".
class EntryReader {
 public:
  EntryReader(const Json& json, std::string who) : json_(json), who_(std::move(who)) {
    require(json.is_object() && json.size() == 3 && json.contains("dtype") && json.contains("shape") &&
                json.contains("data_offsets"),
            "must have dtype, shape and data_offsets and nothing else");
  }

  DType dtype() const {
    const Json& name = json_["dtype"];
    require(name.is_string(), "dtype must be a text");
    for (const auto& [dtype, known] : kDTypeNames) {
      if (name.get_ref<const std::string&>() == known) {
        return dtype;
      }
    }
    fail<DataError>("{}: dtype must be one of F32, F64, BF16, I32, I64, U8, got {}", who_, name.get_ref<const std::string&>());
  }

  Shape shape() const {
    const Json& dims = json_["shape"];
    require(dims.is_array() && dims.size() <= kMaxDims, "shape must be a list of at most 6 extents");
    std::vector<int64_t> extents;
    for (const Json& dim : dims) {
      extents.push_back(whole_number(dim));
    }
    return Shape(extents);
  }

  std::pair<int64_t, int64_t> offsets() const {
    const Json& pair = json_["data_offsets"];
    require(pair.is_array() && pair.size() == 2, "data_offsets must be [begin, end]");
    return {whole_number(pair[0]), whole_number(pair[1])};
  }

  template <typename... Args>
  void require(bool ok, std::string_view rule, const Args&... args) const {
    if (!ok) {
      fail<DataError>("{}: {}", who_, message(rule, args...));
    }
  }

 private:
  int64_t whole_number(const Json& number) const {
    require(number.is_number_unsigned() && number.get<uint64_t>() <= uint64_t{INT64_MAX},
            "extents and offsets must be whole numbers from 0 to 2^63 - 1");
    return number.get<int64_t>();
  }

  const Json& json_;
  std::string who_;
};

SafetensorsEntry read_entry(const std::string& name, const Json& json, int64_t data_begin, int64_t data_bytes,
                            std::string_view path) {
  const EntryReader reader(json, message("{}: tensor {}", path, name));
  SafetensorsEntry entry{name, reader.dtype(), reader.shape(), 0, static_cast<int64_t>(size_of(reader.dtype()))};
  for (const int64_t extent : entry.shape.dims()) {
    reader.require(!__builtin_mul_overflow(entry.bytes, extent, &entry.bytes), "shape {} has more bytes than can be counted",
                   entry.shape);
  }
  const auto [begin, end] = reader.offsets();
  reader.require(begin <= end && end <= data_bytes, "data_offsets must lie within 0 .. {}, got [{}, {}]", data_bytes, begin,
                 end);
  reader.require(end - begin == entry.bytes, "shape {} of {} takes {} bytes, data_offsets [{}, {}] span {}", entry.shape,
                 entry.dtype, entry.bytes, begin, end, end - begin);
  entry.begin = data_begin + begin;
  return entry;
}

void read_metadata(const Json& json, std::map<std::string, std::string>& metadata, std::string_view path) {
  check<DataError>(json.is_object(), "{}: __metadata__ must be an object", path);
  for (const auto& [key, value] : json.items()) {
    check<DataError>(value.is_string(), "{}: __metadata__ must map texts to texts, got another value for {}", path, key);
    metadata[key] = value.get<std::string>();
  }
}

uint64_t read_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8U | std::to_integer<uint64_t>(bytes[i]);
  }
  return length;
}

}  // namespace

std::string make_safetensors_header(SafetensorsHeader& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) {
    json["__metadata__"] = header.metadata;
  }
  int64_t end = 0;
  for (SafetensorsEntry& entry : header.tensors) {
    check(!json.contains(entry.name), "safetensors: every tensor needs a name of its own, got {} twice", entry.name);
    entry.begin = end;
    entry.bytes = entry.shape.numel() * static_cast<int64_t>(size_of(entry.dtype));
    end += entry.bytes;
    const auto dims = entry.shape.dims();
    json[entry.name] = {{"dtype", format_name(entry.dtype)},
                        {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                        {"data_offsets", {entry.begin, end}}};
  }
  std::string text = json.dump();
  text.resize((kLengthBytes + text.size() + kAlignment - 1) / kAlignment * kAlignment - kLengthBytes, ' ');
  std::string length;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length += static_cast<char>(text.size() >> (8 * i) & 0xffU);
  }
  for (SafetensorsEntry& entry : header.tensors) {
    entry.begin += static_cast<int64_t>(kLengthBytes + text.size());
  }
  return length + text;
}

size_t safetensors_head_bytes(std::span<const std::byte> head) {
  const uint64_t length = head.size() < kLengthBytes ? 0 : read_length(head);
  return kLengthBytes + (length <= kMaxHeader ? length : 0);
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, int64_t file_bytes, std::string_view path) {
  check<DataError>(file_bytes >= static_cast<int64_t>(kLengthBytes) && file.size() >= kLengthBytes,
                   "{}: a safetensors file has at least 8 bytes, got {}", path, file_bytes);
  const uint64_t length = read_length(file);
  check<DataError>(
      length <= kMaxHeader && length <= static_cast<uint64_t>(file_bytes) - kLengthBytes,
      "{}: the header must be at most 100,000,000 bytes and end within the {} bytes of the file, got a length of {}", path,
      file_bytes, length);
  check(file.size() >= kLengthBytes + length, "parse_safetensors_header: needs the {} bytes of the header, got {}",
        kLengthBytes + length, file.size());
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  check<DataError>(text.starts_with('{'), "{}: the header must begin with an opening brace", path);
  check_json(text, 4, path);

  SafetensorsHeader header;
  const auto data_begin = static_cast<int64_t>(kLengthBytes + length);
  const Json parsed = Json::parse(text);  // items() of a temporary would not keep it alive
  for (const auto& [name, json] : parsed.items()) {
    if (name == "__metadata__") {
      read_metadata(json, header.metadata, path);
    } else {
      header.tensors.push_back(read_entry(name, json, data_begin, file_bytes - data_begin, path));
    }
  }
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
  });
  int64_t end = data_begin;
  for (const SafetensorsEntry& entry : header.tensors) {
    check<DataError>(entry.begin == end, "{}: tensors must touch without hole or overlap, {} begins at byte {} instead of {}",
                     path, entry.name, entry.begin, end);
    end += entry.bytes;
  }
  check<DataError>(end == file_bytes, "{}: the last tensor must end where the file ends, at byte {}, got {}", path, file_bytes,
                   end);
  return header;
}

}  // namespace ringlet
