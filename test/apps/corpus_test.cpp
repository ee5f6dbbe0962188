#include "apps/training/corpus.h"

#include <cmath>

#include "apps/training/dataset.h"
#include "tensor/base/check.h"
#include "test/apps/scratch_file.h"
#include "test/support/catch.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

std::string text_of(int64_t length) {
  std::string text;
  for (int64_t i = 0; i < length; ++i) {
    text.push_back(static_cast<char>('a' + i % 26));
  }
  return text;
}

}  // namespace

TEST_CASE("[N4] a corpus needs block + 1 tokens, and that many are accepted: exactly start 0", "[corpus]") {
  const test::ScratchFolder folder;
  constexpr int64_t kBlock = 16;
  struct Row {
    int64_t bytes;
    const char* error;  // null: accepted
    int64_t training, heldout, starts;
  };
  const std::vector<Row> rows = {
      {0, "empty", 0, 0, 0},
      {1, "too short", 0, 0, 0},
      {kBlock, "too short", 0, 0, 0},
      {kBlock + 1, nullptr, kBlock + 1, 0, 1},
      {kBlock + 2, nullptr, kBlock + 2, 0, 2},  // a single held-out token would predict nothing
      {kBlock + 3, nullptr, kBlock + 1, 2, 1},  // training keeps its block + 1, the rest is held out
      {100, nullptr, 90, 10, 74},
  };
  for (const Row& row : rows) {
    CAPTURE(row.bytes);
    const CorpusOptions options = {.path = folder.write("text", text_of(row.bytes)), .block = kBlock};
    if (row.error != nullptr) {
      CHECK_THROWS_AS(Corpus(options), DataError);
      CHECK_THROWS_WITH(Corpus(options), Contains(options.path) && Contains(row.error));
      continue;
    }
    const Corpus corpus(options);
    CHECK(static_cast<int64_t>(corpus.training().size()) == row.training);
    CHECK(static_cast<int64_t>(corpus.heldout().size()) == row.heldout);
    std::vector<bool> drawn(static_cast<size_t>(row.starts));
    const TextDataset dataset(corpus, 41);
    for (int64_t sequence = 0; sequence < 40 * row.starts; ++sequence) {
      const int64_t start = dataset.start(0, sequence, kBlock + 1);
      REQUIRE((start >= 0 && start < row.starts));
      drawn[static_cast<size_t>(start)] = true;
    }
    CHECK(std::count(drawn.begin(), drawn.end(), false) == 0);  // the last valid start too
  }
}

TEST_CASE("[N4] line ends, NUL and bytes above 127 survive, with and without a trailing newline", "[corpus]") {
  const test::ScratchFolder folder;
  const std::string text("\xff\xfe line\r\n\0\x80\xc3 end", 16);
  for (const std::string& content : {text, text + "\n"}) {
    const Corpus corpus({.path = folder.write("text", content), .block = 4, .heldout_fraction = 0.0});
    std::vector<int32_t> expected;
    for (const char c : content) {
      expected.push_back(static_cast<uint8_t>(c));
    }
    CHECK(std::vector<int32_t>(corpus.training().begin(), corpus.training().end()) == expected);
  }
}

TEST_CASE("a corpus that is missing, a folder, not UTF-8 for chars, or binary is refused by name", "[corpus]") {
  const test::ScratchFolder folder;
  const std::string binary = folder.write("binary", std::string(2000, '\x01') + text_of(2000));
  const std::string latin1 = folder.write("latin1", text_of(50) + "\xe9" + text_of(50));
  struct Row {
    CorpusOptions options;
    const char* rule;
  };
  const std::vector<Row> rows = {
      {{.path = folder.path("nowhere")}, "does not exist"},
      {{.path = folder.path()}, "not a regular file"},
      {{.path = "/dev/null"}, "not a regular file"},
      {{.path = binary}, "looks binary, 2000 of 4000 bytes"},
      {{.path = latin1, .tokenizer = Tokenizer::Kind::Chars}, "not UTF-8 at byte 50"},
  };
  for (const Row& row : rows) {
    CHECK_THROWS_AS(Corpus(row.options), DataError);
    CHECK_THROWS_WITH(Corpus(row.options), Contains(row.options.path) && Contains(row.rule));
  }
  CHECK_NOTHROW(Corpus({.path = binary, .allow_binary = true}));
  CHECK_NOTHROW(Corpus({.path = latin1}));
}

TEST_CASE("the last tenth is held out, as nanoGPT splits", "[corpus]") {
  const test::ScratchFolder folder;
  const Corpus corpus({.path = folder.write("text", text_of(1115394 / 100)), .tokenizer = Tokenizer::Kind::Chars});
  CHECK(corpus.training().size() == 10037);  // int(0.9 · 11153)
  CHECK(corpus.heldout().size() == 1116);
  CHECK(corpus.tokenizer().vocab_size() == 26);
}

TEST_CASE("the fingerprint follows content, tokenizer and split, not the path", "[corpus]") {
  const test::ScratchFolder folder;
  const std::string one = folder.write("one", text_of(200)), same = folder.write("two", text_of(200));
  const uint64_t fingerprint = Corpus({.path = one}).fingerprint();
  CHECK(Corpus({.path = same}).fingerprint() == fingerprint);
  CHECK(Corpus({.path = folder.write("other", text_of(199) + "!")}).fingerprint() != fingerprint);
  CHECK(Corpus({.path = one, .tokenizer = Tokenizer::Kind::Chars}).fingerprint() != fingerprint);
  CHECK(Corpus({.path = one, .heldout_fraction = 0.2}).fingerprint() != fingerprint);
}

TEST_CASE("unigram entropy is that of the frequencies", "[corpus]") {
  const std::vector<int32_t> tokens = {0, 0, 1, 2};
  CHECK(unigram_entropy(tokens, 5) == Approx(0.5 * std::log(2.0) + 0.5 * std::log(4.0)));
  CHECK(unigram_entropy(std::vector<int32_t>{3, 3}, 5) == 0.0);
}
