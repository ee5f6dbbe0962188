#include "apps/training/corpus.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tensor/base/check.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

std::string read_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  check<DataError>(std::filesystem::exists(status), "corpus {}: {}", path,
                   status.type() == std::filesystem::file_type::not_found ? "the file does not exist"
                                                                          : "cannot be looked at: " + error.message());
  check<DataError>(std::filesystem::is_regular_file(status), "corpus {}: not a regular file", path);
  std::ifstream file(path, std::ios::binary);
  check<DataError>(file.is_open(), "corpus {}: cannot be opened: {}", path, std::strerror(errno));
  std::string text(std::filesystem::file_size(path), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  check<DataError>(file.gcount() == static_cast<std::streamsize>(text.size()), "corpus {}: read {} of {} bytes", path,
                   static_cast<int64_t>(file.gcount()), text.size());
  return text;
}

bool is_control(char c) {
  constexpr std::string_view kTextual = "\t\n\v\f\r\b\x1b";
  const auto byte = static_cast<uint8_t>(c);
  return byte == 0x7F || (byte < 0x20 && kTextual.find(c) == std::string_view::npos);
}

void require_text(const std::string& path, const std::string& text) {
  const int64_t controls = std::count_if(text.begin(), text.end(), is_control);
  check<DataError>(controls < 64 || controls * 20 <= static_cast<int64_t>(text.size()),
                   "corpus {}: looks binary, {} of {} bytes are control characters; --allow-binary trains on it all the same",
                   path, controls, text.size());
}

size_t split_of(int64_t tokens, const CorpusOptions& options) {
  const auto wanted = static_cast<int64_t>(std::floor(static_cast<double>(tokens) * (1.0 - options.heldout_fraction) + 1e-9));
  const int64_t training = std::max(wanted, options.block + 1);
  return static_cast<size_t>(tokens - training < 2 ? tokens : training);
}

}  // namespace

Corpus::Corpus(const CorpusOptions& options) : path_(options.path) {
  const std::string text = read_file(path_);
  check<DataError>(!text.empty(), "corpus {}: the file is empty", path_);
  if (!options.allow_binary) {
    require_text(path_, text);
  }
  try {
    tokenizer_ = Tokenizer::from_text(options.tokenizer, text);
  } catch (const DataError& error) {
    fail<DataError>("corpus {}: {}", path_, error.what());
  }
  tokens_ = tokenizer_.encode(text);
  const auto count = static_cast<int64_t>(tokens_.size());
  check<DataError>(count >= options.block + 1, "corpus {}: too short, a sequence of {} needs {} tokens, got {}", path_,
                   options.block, options.block + 1, count);
  split_ = split_of(count, options);
  fingerprint_ = hash_bytes(std::as_bytes(std::span(text)), mix64(tokenizer_.fingerprint() + split_));
}

double unigram_entropy(std::span<const int32_t> tokens, int64_t vocab_size) {
  std::vector<int64_t> counts(static_cast<size_t>(vocab_size));
  for (const int32_t token : tokens) {
    counts[static_cast<size_t>(token)] += 1;
  }
  double entropy = 0.0;
  for (const int64_t count : counts) {
    if (count > 0) {
      const double p = static_cast<double>(count) / static_cast<double>(tokens.size());
      entropy -= p * std::log(p);
    }
  }
  return entropy;
}

}  // namespace ringlet
