#include "apps/training/tokenizer.h"

#include "apps/training/utf8.h"
#include "tensor/base/check.h"
#include "test/support/catch.h"

using namespace ringlet;

TEST_CASE("bytes: every byte survives the way to ids and back", "[tokenizer]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all.push_back(static_cast<char>(byte));
  }
  const Tokenizer bytes;
  const std::vector<int32_t> ids = bytes.encode(all);
  REQUIRE(bytes.vocab_size() == 256);
  REQUIRE(ids.size() == 256);
  CHECK(ids.front() == 0);
  CHECK(ids.back() == 255);
  CHECK(bytes.decode(ids) == all);
}

TEST_CASE("chars: one token per distinct code point, in ascending order", "[tokenizer]") {
  struct Row {
    std::string text;
    std::vector<int32_t> ids;
    int64_t vocab_size;
  };
  const std::vector<Row> rows = {
      {"abba", {0, 1, 1, 0}, 2},
      {"b a\r\n", {4, 2, 3, 1, 0}, 5},                                 // \n < \r < space < a < b; line ends are kept
      {std::string("a\0b", 3), {1, 0, 2}, 3},                          // NUL is a character
      {"a\xc3\xa9z\xe2\x82\xac\xf0\x9f\x98\x80", {0, 2, 1, 3, 4}, 5},  // two, three and four bytes each
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Tokenizer chars = Tokenizer::from_text(Tokenizer::Kind::Chars, row.text);
    CHECK(chars.vocab_size() == row.vocab_size);
    CHECK(chars.encode(row.text) == row.ids);
    CHECK(chars.decode(row.ids) == row.text);
  }
}

TEST_CASE("chars refuses what is not UTF-8, and says where", "[tokenizer]") {
  const std::vector<std::pair<std::string, int>> rows = {
      {"ab\xff", 2},           // no lead byte
      {"a\x80", 1},            // a stray continuation
      {"\xc3", 0},             // cut off
      {"a\xe2\x82", 1},        // cut off
      {"\xc0\xaf", 0},         // overlong
      {"\xe0\x80\xaf", 0},     // overlong
      {"\xed\xa0\x80", 0},     // a surrogate
      {"\xf4\x90\x80\x80", 0}  // beyond U+10FFFF
  };
  for (const auto& [text, offset] : rows) {
    CAPTURE(text);
    CHECK_THROWS_WITH(Tokenizer::from_text(Tokenizer::Kind::Chars, text),
                      Catch::Matchers::Contains("not UTF-8 at byte " + std::to_string(offset)));
  }
}

TEST_CASE("a character outside of the vocabulary and an id outside of it are errors", "[tokenizer]") {
  const Tokenizer chars = Tokenizer::from_text(Tokenizer::Kind::Chars, "ab");
  CHECK_THROWS_AS(chars.encode("abc"), DataError);
  CHECK_THROWS_AS(chars.decode({0, 2}), Error);
  CHECK_THROWS_AS(chars.decode({-1}), Error);
}
