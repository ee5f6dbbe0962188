// mutate N [SEED]: N executions of the parsers over inputs made of good ones by small changes, always the same for the same SEED. What
// libFuzzer does without its feedback, and with any compiler. "mutate seeds DIR" writes the good ones as files for libFuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "dist/checkpoint/checkpoint_publish.h"
#include "dist/checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace ringlet {
namespace {

std::string words(std::initializer_list<const char*> all) {
  std::string text;
  for (const char* word : all) {
    text.append(text.empty() ? 0 : 1, '\0').append(word);
  }
  return text;
}

std::vector<std::string> good_inputs() {
  const std::vector<float> values(6, 1.0F);
  const auto bytes = std::as_bytes(std::span(values));
  SafetensorsHeader header;
  header.metadata["format"] = "pt";
  header.tensors = {{"master/w", DType::F32, Shape{2, 2}, 0, 0}, {"b@2", DType::BF16, Shape{4}, 0, 0}};
  const std::string file = make_safetensors_header(header) + std::string(24, 'x');

  const std::vector<PieceBytes> pieces = {{"w", "master", Shape{2, 3}, DType::F32, 0, 6, bytes},
                                          {"b", "exp_avg", Shape{0}, DType::F32, 0, 0, {}}};
  const std::vector<ShardReport> reports = {report_of(0, {224, std::string(64, 'a'), 7, {200, 0}}, pieces)};
  Manifest manifest = assemble_manifest(pieces, reports);
  manifest.meta = {{"--lr", "0.005"}, {"guard.skipped", "3,5"}};
  const std::string sealed = manifest_to_json(manifest);
  const std::string body = sealed.substr(0, sealed.find(",\n \"manifest_sha256\""));

  const std::string flags =
      words({"--steps", "20", "--lr", "1e-3", "--strategy", "zero1", "--np=4", "--checkpoint-dir", "a", "--json"});
  const std::string more = words({"--seed", "41", "--heads", "4", "--dropout=0.1", "--keep-checkpoints", "2", "--quiet"});
  return {std::string(1, '\0') + file, "\1" + sealed, "\2" + body, "\2" + body, "\3" + flags, "\3" + more};
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed), good_(good_inputs()) {}

  std::string next() {
    std::string text = pick(good_);
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      change(text);
    }
    return text;
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
  template <typename Of>
  const typename Of::value_type& pick(const Of& all) {
    return all[below(all.size())];
  }

  // The first byte chooses the parser and stays.
  void change(std::string& text) {
    static const std::vector<std::string> kTokens = {"0",
                                                     "-1",
                                                     "9223372036854775807",
                                                     "18446744073709551616",
                                                     "1e309",
                                                     "null",
                                                     "[]",
                                                     "{}",
                                                     "\"\"",
                                                     "\\u0000",
                                                     "[[[[[[[[[[[[",
                                                     "\"F32\"",
                                                     "\"step\"",
                                                     "nan",
                                                     "--",
                                                     "--lr",
                                                     "../",
                                                     std::string(1, '\0'),
                                                     std::string(8, '\xff'),
                                                     "\xc3\x28"};
    const size_t at = 1 + below(text.size()), length = below(9);
    switch (below(7)) {
      case 0: text[std::min(at, text.size() - 1)] = static_cast<char>(random_()); break;
      case 1: text[std::min(at, text.size() - 1)] ^= static_cast<char>(1U << below(8)); break;
      case 2: text.erase(std::min(at, text.size()), length); break;
      case 3: text.insert(std::min(at, text.size()), pick(kTokens)); break;
      case 4: text.insert(std::min(at, text.size()), text.substr(1 + below(text.size() - 1), below(40))); break;
      case 5: text.resize(std::max<size_t>(1, at)); break;
      default: text.replace(std::min(at, text.size()), length, pick(kTokens)); break;
    }
    if (text.size() < 2) {
      text += 'x';
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> good_;
};

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "seeds") == 0) {
    int64_t number = 0;
    for (const std::string& input : ringlet::good_inputs()) {
      std::ofstream(std::string(argv[2]) + "/" + std::to_string(number++), std::ios::binary) << input;
    }
    return 0;
  }
  const int64_t runs = argc > 1 ? std::atoll(argv[1]) : 100000;
  ringlet::Mutator mutator(argc > 2 ? static_cast<uint64_t>(std::atoll(argv[2])) : 1);
  for (int64_t i = 0; i < runs; ++i) {
    const std::string input = mutator.next();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
  std::printf("%lld executions, no finding\n", static_cast<long long>(runs));
  return 0;
}
