// One input for the parsers of what nobody vouches for, in the form that libFuzzer and AFL++ call: the first byte says which parser, the
// rest is its text. A rejection is a DataError or a UsageError; anything else, or a manifest that does not survive being written again, is a
// finding. Needs no MPI.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "apps/training/failure.h"
#include "apps/training/train_config.h"
#include "dist/checkpoint/checkpoint_manifest.h"
#include "dist/checkpoint/safetensors.h"
#include "dist/checkpoint/sha256.h"
#include "tensor/base/check.h"

namespace ringlet {

// As collectives/factory.h has it, which knows MPI.
std::chrono::milliseconds default_deadline() { return std::chrono::seconds(60); }

namespace {

void header(const std::string& text) {
  const SafetensorsHeader parsed =
      parse_safetensors_header(std::as_bytes(std::span(text)), static_cast<int64_t>(text.size()), "input");
  int64_t end = -1;
  for (const SafetensorsEntry& entry : parsed.tensors) {  // what is accepted lies inside, one after another
    if (entry.bytes < 0 || entry.begin < 8 || (end >= 0 && entry.begin != end)) {
      std::abort();
    }
    end = entry.begin + entry.bytes;
  }
}

void manifest(const std::string& text) {
  const Manifest parsed = parse_manifest(text, "input");
  const std::string again = manifest_to_json(parsed);
  if (manifest_to_json(parse_manifest(again, "again")) != again) {
    std::abort();
  }
}

// As somebody writes it who knows how to seal: the text is all but the last field.
void sealed_manifest(const std::string& body) { manifest(body + ",\n \"manifest_sha256\": \"" + sha256(body) + "\"\n}\n"); }

// Words between NULs.
void command_line(const std::string& text) {
  std::vector<std::string> words = {"gpt_e2e"};
  std::string word;
  for (const char letter : text) {
    if (letter == '\0') {
      words.push_back(word);
      word.clear();
    } else {
      word += letter;
    }
  }
  words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& each : words) {
    argv.push_back(each.c_str());
  }
  parse_train_config(static_cast<int>(argv.size()), argv.data());
}

constexpr void (*kParsers[])(const std::string&) = {header, manifest, sealed_manifest, command_line};

}  // namespace
}  // namespace ringlet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    ringlet::kParsers[data[0] % std::size(ringlet::kParsers)](text);
  } catch (const ringlet::DataError&) {   // the file's fault
  } catch (const ringlet::UsageError&) {  // the command line's
  }                                       // any other exception ends the process: a finding
  return 0;
}
