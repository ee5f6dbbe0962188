// The safetensors format (Hugging Face):
//   8 bytes: length N of the header, little-endian | N bytes of JSON | the elements
//   {"name": {"dtype": "F32", "shape": [64, 32], "data_offsets": [0, 8192]}, …, "__metadata__": {text: text}}
// Offsets count from the end of the header; the tensors touch without hole or overlap and end where the file ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/dtype.h"
#include "tensor/shape.h"

namespace ringlet {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  int64_t begin = 0;  // bytes from the start of the file
  int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// The 8 bytes and the JSON, padded with spaces so that elements start at a multiple of 64. Fills in where each tensor lies,
/// one after another in the given order. Names must differ; dtypes that the format lacks do not exist here.
std::string make_safetensors_header(SafetensorsHeader& header);

/// Of a file that begins like `head`: how many bytes to read before `parse_safetensors_header`. As long as `head` has no length in it,
/// those of the length; and no more where it claims to be longer than 100 MB.
size_t safetensors_head_bytes(std::span<const std::byte> head);

/// Reads and validates. `file` is the beginning of a file of `file_bytes` bytes that holds the header at least. A header that
/// claims to be longer than 100 MB or than the file is refused before anything of that size is allocated. Throws `DataError`
/// naming `path`.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, int64_t file_bytes, std::string_view path);

}  // namespace ringlet
