#include "apps/training/meta.h"

#include <bit>
#include <charconv>

#include "dist/sharded_checkpoint.h"

namespace ringlet {
namespace {

template <typename T>
T number_of(const std::string& key, const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check<CheckpointError>(error == std::errc() && end == text.data() + text.size(), "checkpoint: '{}' is no number, got '{}'",
                         key, text);
  return value;
}

}  // namespace

const std::string& text_in(const std::map<std::string, std::string>& meta, const std::string& key) {
  const auto found = meta.find(key);
  check<CheckpointError>(found != meta.end(), "checkpoint: the manifest lacks '{}': not written by this gpt_e2e", key);
  return found->second;
}

int64_t whole_of(const std::string& key, const std::string& text) {
  const auto value = number_of<int64_t>(key, text);
  check<CheckpointError>(value >= 0, "checkpoint: '{}' must not be negative, got {}", key, value);
  return value;
}

int64_t whole_in(const std::map<std::string, std::string>& meta, const std::string& key) {
  return whole_of(key, text_in(meta, key));
}

std::string bits_of(double value) { return to_text(std::bit_cast<uint64_t>(value)); }

double double_in(const std::map<std::string, std::string>& meta, const std::string& key) {
  return std::bit_cast<double>(number_of<uint64_t>(key, text_in(meta, key)));
}

}  // namespace ringlet
