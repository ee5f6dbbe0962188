#include "dist/checkpoint/safetensors.h"

#include "dist/checkpoint/sha256.h"
#include "dist/checkpoint/strict_json.h"
#include "tensor/base/check.h"
#include "test/support/catch.h"
#include "test/support/report.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

std::string length_bytes(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(length >> (8 * i) & 0xff);
  }
  return bytes;
}

// A file with this JSON and this many bytes of elements behind it.
std::string file_of(const std::string& json, size_t data_bytes) {
  return length_bytes(json.size()) + json + std::string(data_bytes, '\0');
}

SafetensorsHeader parse(const std::string& file) {
  return parse_safetensors_header(std::as_bytes(std::span(file)), static_cast<int64_t>(file.size()), "x.safetensors");
}

std::string object(const std::vector<std::string>& fields) {
  std::string text(1, '{');
  for (const std::string& field : fields) {
    text.append(text.size() > 1 ? "," : "").append(field);
  }
  return text.append("}");
}

std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets,
                   const std::string& dtype = "F32") {
  const std::string fields = message(R"("dtype":"{}","shape":{},"data_offsets":{})", dtype, shape, offsets);
  return message("\"{}\":", name).append(object({fields}));
}

}  // namespace

TEST_CASE("a header that is written is read back, its elements at a multiple of 64", "[dist]") {
  SafetensorsHeader header;
  header.metadata = {{"format", "ringlet"}, {"quoted", "\"\\ \n"}};
  header.tensors = {{"a/b@12", DType::F32, {2, 3}, 0, 0}, {"empty", DType::F64, {0, 7}, 0, 0},
                    {"scalar", DType::BF16, {}, 0, 0},    {"i", DType::I64, {5}, 0, 0},
                    {"u", DType::U8, {3}, 0, 0},          {"j", DType::I32, {1, 1}, 0, 0}};
  const std::string head = make_safetensors_header(header);
  CHECK(head.size() % 64 == 0);
  const SafetensorsHeader read = parse(head + std::string(24 + 0 + 2 + 40 + 3 + 4, '\0'));
  CHECK(read.metadata == header.metadata);
  REQUIRE(read.tensors.size() == header.tensors.size());
  for (size_t i = 0; i < read.tensors.size(); ++i) {
    CHECK(read.tensors[i].name == header.tensors[i].name);
    CHECK(read.tensors[i].dtype == header.tensors[i].dtype);
    CHECK(read.tensors[i].shape == header.tensors[i].shape);
    CHECK(read.tensors[i].begin == header.tensors[i].begin);
    CHECK(read.tensors[i].bytes == header.tensors[i].bytes);
  }
}

TEST_CASE("files in the format's own words are read", "[dist]") {
  const SafetensorsHeader read =
      parse(file_of(object({tensor("b", "[2]", "[8,16]"), tensor("a", "[]", "[0,8]", "F64")}) + "  ", 16));
  REQUIRE(read.tensors.size() == 2);
  CHECK(read.tensors[0].name == "a");
  CHECK(read.tensors[1].bytes == 8);
  CHECK(parse(file_of("{}", 0)).tensors.empty());
}

TEST_CASE("a header is refused when its length, its JSON, its shapes or its offsets do not fit the file [K1]", "[dist]") {
  struct Row {
    std::string file;
    const char* part;
  };
  const std::string good = object({tensor("w", "[16,4]", "[0,256]")});
  std::vector<Row> rows{
      {std::string(8, '\xff') + "{}", "got a length of 18446744073709551615"},
      {length_bytes(uint64_t{1} << 63) + "{}", "got a length of 9223372036854775808"},
      {length_bytes(file_of(good, 256).size() - 7) + good + std::string(256, '\0'), "end within"},
      {length_bytes(100'000'001) + good, "at most 100,000,000"},
      {length_bytes(0) + good, "must begin with an opening brace"},
      {file_of("hello", 0), "must begin with an opening brace"},
      {file_of("{hello}", 0), "must be JSON"},
      {file_of("{", 0), "must be JSON"},
      {file_of(" {}", 0), "must begin with an opening brace"},
      {file_of("{\"\xff\":1}", 0), "must be JSON"},
      {file_of("{\"a\":1e999}", 0), "must be JSON"},
      {file_of("{} {}", 0), "must be JSON"},
      {file_of(object({tensor("w", "[16,4]", "[0,4096]")}), 4096), "takes 256 bytes, data_offsets [0, 4096] span 4096"},
      {file_of(object({tensor("w", "[16,4]", "[0,252]")}), 252), "takes 256 bytes, data_offsets [0, 252] span 252"},
      {file_of(object({tensor("w", "[16,4]", "[256,0]")}), 256), "must lie within 0 .. 256, got [256, 0]"},
      {file_of(good, 255), "must lie within 0 .. 255, got [0, 256]"},
      {file_of(good, 257), "must end where the file ends"},
      {file_of(object({tensor("a", "[1]", "[0,4]"), tensor("b", "[1]", "[8,12]")}), 12), "without hole or overlap"},
      {file_of(object({tensor("a", "[2]", "[0,8]"), tensor("b", "[2]", "[4,12]")}), 12), "without hole or overlap"},
      {file_of(object({tensor("a", "[2]", "[4,12]")}), 12), "without hole or overlap"},
      {file_of(object({tensor("a", "[1]", "[0,4]"), tensor("a", "[1]", "[0,4]")}), 4), "got \"a\" twice"},
      {file_of(object({tensor("a", "[4294967296,4294967296]", "[0,0]")}), 0), "more bytes than can be counted"},
      {file_of(object({tensor("a", "[9223372036854775807]", "[0,0]")}), 0), "more bytes than can be counted"},
      {file_of(object({tensor("a", "[9223372036854775808]", "[0,0]")}), 0), "whole numbers from 0"},
      {file_of(object({tensor("a", "[-1]", "[0,4]")}), 4), "whole numbers from 0"},
      {file_of(object({tensor("a", "[1.0]", "[0,4]")}), 4), "whole numbers from 0"},
      {file_of(object({tensor("a", "[1,1,1,1,1,1,1]", "[0,4]")}), 4), "at most 6 extents"},
      {file_of(object({tensor("a", "[1]", "[0,4,8]")}), 4), "must be [begin, end]"},
      {file_of(object({tensor("a", "[1]", "[0,4]", "F8_E4M3")}), 4), "got F8_E4M3"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "must have dtype, shape and data_offsets"},
      {file_of(R"({"a":[]})", 4), "must have dtype, shape and data_offsets"},
      {file_of(R"({"__metadata__":{"a":1}})", 0), "must map texts to texts"},
      {file_of("{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", 0), "nested at most 4 deep"},
  };
  for (size_t bytes = 0; bytes < 8; ++bytes) {
    rows.push_back({std::string(bytes, '\0'), "at least 8 bytes"});
  }
  Report report;
  for (const Row& row : rows) {
    report.about(row.part);
    report.expect_error<DataError>(row.part, [&] { parse(row.file); });
    report.expect_error<DataError>("x.safetensors: ", [&] { parse(row.file); });
  }
  CHECK(report.failures() == std::vector<std::string>{});
  CHECK(parse(file_of(good, 256)).tensors.size() == 1);
}

TEST_CASE("SHA-256 is that of the standard", "[dist]") {
  CHECK(sha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 parts;
  parts.update(std::as_bytes(std::span(std::string_view("a"))));
  parts.update({});
  parts.update(std::as_bytes(std::span(std::string_view("bc"))));
  CHECK(parts.finish() == sha256("abc"));
}

TEST_CASE("JSON is refused where a lenient parser would guess", "[dist]") {
  Report report;
  const auto refuse = [&](const std::string& text, const char* part) {
    report.about(text.substr(0, 40));
    report.expect_error<DataError>(part, [&] { check_json(text, 3, "file"); });
  };
  refuse(R"({"a":1,"b":{"a":1,"a":2}})", "got \"a\" twice");
  refuse(R"({"a":1,"\u0061":2})", "got \"a\" twice");  // the same key in another spelling
  refuse("[[[[]]]]", "at most 3 deep");
  refuse("[1,]", "must be JSON");
  refuse("", "must be JSON");
  refuse("NaN", "must be JSON");
  refuse("[1] x", "must be JSON");
  refuse("\"\xc3\x28\"", "must be JSON");
  CHECK(report.failures() == std::vector<std::string>{});
  check_json(R"({"a":{"a":[1,2.5,-3,true,null,"x"]}})", 3, "file");
}
