#include "apps/ringlet_ckpt/inspect.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "dist/checkpoint/checkpoint_directory.h"
#include "dist/checkpoint/logical_tensors.h"
#include "tensor/base/check.h"

namespace ringlet {
namespace {

using TensorKey = std::pair<std::string, std::string>;  // kind, name

std::map<TensorKey, LogicalTensor> tensors_of(const std::string& path, const Manifest& manifest) {
  std::map<TensorKey, LogicalTensor> tensors;
  for (LogicalTensor& tensor : read_logical_tensors(path, manifest)) {
    const TensorKey key(tensor.kind, tensor.name);
    tensors.emplace(key, std::move(tensor));
  }
  return tensors;
}

template <typename T>
double largest_difference(const LogicalTensor& a, const LogicalTensor& b) {
  double largest = 0.0;
  for (size_t at = 0; at < a.bytes.size(); at += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a.bytes.data() + at, sizeof(T));
    std::memcpy(&y, b.bytes.data() + at, sizeof(T));
    largest = std::max(largest, std::abs(static_cast<double>(x) - static_cast<double>(y)));
  }
  return largest;
}

TensorDifference difference_of(const LogicalTensor& a, const LogicalTensor& b) {
  TensorDifference found = {a.kind, a.name, {}};
  if (a.shape != b.shape || a.dtype != b.dtype) {
    found.what = message("{} {} and {} {}", a.dtype, a.shape, b.dtype, b.shape);
    return found;
  }
  int64_t differ = 0;
  const size_t item = size_of(a.dtype);
  for (size_t at = 0; at < a.bytes.size(); at += item) {
    differ += std::memcmp(a.bytes.data() + at, b.bytes.data() + at, item) != 0 ? 1 : 0;
  }
  if (differ > 0) {
    found.what = message("{} of {} elements", differ, a.shape.numel());
    switch (a.dtype) {
      case DType::F32: found.largest = largest_difference<float>(a, b); break;
      case DType::F64: found.largest = largest_difference<double>(a, b); break;
      case DType::I64: found.largest = largest_difference<int64_t>(a, b); break;
      case DType::I32: found.largest = largest_difference<int32_t>(a, b); break;
      default: break;
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> checkpoints_at(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path + "/manifest.json", ignored)) {
    return {path};
  }
  std::vector<std::string> paths;
  for (const int64_t step : complete_steps(path)) {
    paths.push_back((std::filesystem::path(path) / checkpoint_name(step)).string());
  }
  check<DataError>(!paths.empty(), "{}: must be a checkpoint or a folder of checkpoints, got none", path);
  return paths;
}

Verified verify_checkpoint(const std::string& path, HashKind kind) {
  Verified result;
  result.path = path;
  try {
    const Manifest manifest = read_manifest_file(path);
    for (const ShardRecord& shard : manifest.shards) {
      result.files += 1;
      result.bytes += shard.bytes;
    }
    for (const LogicalTensor& tensor : read_logical_tensors(path, manifest, kind)) {
      check_finite(message("{}: {} of {}", path, tensor.kind, tensor.name), tensor.dtype, tensor.bytes);
    }
  } catch (const DataError& error) {
    result.fault = error.what();
  }
  return result;
}

Difference compare_checkpoints(const std::string& first, const std::string& second) {
  const Manifest a = read_manifest_file(first), b = read_manifest_file(second);
  Difference difference;
  std::map<std::string, std::pair<std::string, std::string>> meta;
  for (const auto& [key, value] : a.meta) {
    meta[key] = {value, "(not there)"};
  }
  for (const auto& [key, value] : b.meta) {
    meta.try_emplace(key, "(not there)", "").first->second.second = value;
  }
  for (const auto& [key, values] : meta) {
    if (values.first != values.second) {
      difference.settings.push_back(message("{}: {} and {}", key, values.first, values.second));
    }
  }
  const auto of_a = tensors_of(first, a), of_b = tensors_of(second, b);
  for (const auto& [key, tensor] : of_a) {
    const auto other = of_b.find(key);
    const TensorDifference found = other == of_b.end() ? TensorDifference{key.first, key.second, "only in the first"}
                                                       : difference_of(tensor, other->second);
    if (!found.what.empty()) {
      difference.tensors.push_back(found);
    }
  }
  for (const auto& [key, tensor] : of_b) {
    if (!of_a.contains(key)) {
      difference.tensors.push_back({key.first, key.second, "only in the second"});
    }
  }
  return difference;
}

}  // namespace ringlet
