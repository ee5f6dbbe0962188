#include "tensor/base/bf16.h"

#include <bitset>
#include <limits>
#include <set>

#include "tensor/base/check.h"
#include "tensor/base/device.h"
#include "tensor/base/dtype.h"
#include "tensor/base/hash.h"
#include "test/support/catch.h"

using namespace ringlet;

TEST_CASE("bf16 rounds to nearest, ties to even", "[tensor]") {
  struct Row {
    uint32_t fp32;
    uint16_t bf16;
  };
  const Row table[] = {
      {0x3f800000, 0x3f80},                        // 1
      {0x3f807fff, 0x3f80},                        // just below the tie: down
      {0x3f808000, 0x3f80},                        // tie, even below: down
      {0x3f808001, 0x3f81},                        // just above the tie: up
      {0x3f818000, 0x3f82},                        // tie, even above: up
      {0x3fffffff, 0x4000},                        // carries into the exponent
      {0x00000000, 0x0000},                        // both zeros
      {0x80000000, 0x8000}, {0x00000001, 0x0000},  // subnormal, rounds to 0
      {0x00018000, 0x0002},                        // subnormal tie, to even
      {0x7f7fffff, 0x7f80},                        // the largest fp32 rounds to inf
      {0x7f7f7fff, 0x7f7f},                        // the largest that does not
      {0x7f800000, 0x7f80},                        // inf
      {0xff800000, 0xff80}, {0x7fc00000, 0x7fc0},  // NaN, its payload cut
      {0x7f800001, 0x7fc0},                        // a signalling NaN whose payload would vanish
      {0xffffffff, 0xffff},
  };
  for (const Row& row : table) {
    CAPTURE(row.fp32);
    CHECK(bf16(std::bit_cast<float>(row.fp32)).bits == row.bf16);
  }
}

TEST_CASE("every bf16 survives the way to fp32 and back", "[tensor]") {
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    bf16 x;
    x.bits = static_cast<uint16_t>(bits);
    const bool nan = std::isnan(static_cast<float>(x));
    REQUIRE((nan ? std::isnan(static_cast<float>(bf16(static_cast<float>(x)))) : bf16(static_cast<float>(x)).bits == x.bits));
  }
  CHECK(bf16(1.0F) == bf16(1.0));
  CHECK_FALSE(bf16(std::nanf("")) == bf16(std::nanf("")));
  CHECK(bf16(0.0F) == bf16(-0.0F));
}

TEST_CASE("dtypes know their size, name and C++ type", "[tensor]") {
  struct Row {
    DType dtype;
    size_t size;
    const char* name;
    bool floating;
  };
  for (const Row& row : {Row{DType::F32, 4, "f32", true}, Row{DType::F64, 8, "f64", true}, Row{DType::BF16, 2, "bf16", true},
                         Row{DType::I32, 4, "i32", false}, Row{DType::I64, 8, "i64", false}, Row{DType::U8, 1, "u8", false}}) {
    CHECK(size_of(row.dtype) == row.size);
    CHECK(to_text(row.dtype) == row.name);
    CHECK(is_floating(row.dtype) == row.floating);
    CHECK(dispatch_all(row.dtype, []<typename T>() { return sizeof(T); }) == row.size);
    CHECK(dispatch_all(row.dtype, []<typename T>() { return dtype_of<T>; }) == row.dtype);
    const auto real = [&] { return dispatch_real("who", row.dtype, []<typename T>() { return sizeof(T); }); };
    if (row.dtype == DType::F32 || row.dtype == DType::F64) {
      CHECK(real() == row.size);
    } else {
      CHECK_THROWS_WITH(real(), std::string("who: needs f32 or f64, got ") + row.name);
    }
  }
  CHECK(to_text(Device{}) == "cpu");
  CHECK(to_text(Device{Device::Kind::Cuda, 1}) == "cuda:1");
}

TEST_CASE("hashes are those of xxHash and SplitMix64", "[tensor]") {
  CHECK(hash_text("") == 0x2d06800538d394c2);  // XXH3_64bits of nothing, seed 0
  CHECK(hash_text("a") != hash_text("b"));
  CHECK(hash_text("a", 1) != hash_text("a", 2));
  const std::string_view text = "ringlet";
  CHECK(hash_bytes(std::as_bytes(std::span(text.data(), text.size()))) == hash_text(text));
  // SplitMix64 seeded with 0 gives mix64 of the multiples of the golden ratio.
  CHECK(mix64(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf);
  CHECK(mix64(2 * 0x9e3779b97f4a7c15) == 0x6e789e6aa1b965f4);
  std::set<uint64_t> seen;
  double flips = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    seen.insert(mix64(i));
    for (int bit = 0; bit < 64; ++bit)
      flips += static_cast<double>(std::bitset<64>(mix64(i) ^ mix64(i ^ uint64_t{1} << bit)).count());
  }
  CHECK(seen.size() == 1000);
  CHECK(flips / 64000 == Approx(32).epsilon(0.01));
}

TEST_CASE("errors are messages filled in, thrown only when the rule is broken", "[tensor]") {
  CHECK(message("no arguments") == "no arguments");
  CHECK(message("{} {} {} {} {}", 1, -2L, 7U, "text", true) == "1 -2 7 text true");
  CHECK(message("{}", 0.1F) == "0.100000001");
  CHECK(message("{} of {}", std::string("a"), DType::BF16) == "a of bf16");
  CHECK(message("a brace in an argument: {}", "{}") == "a brace in an argument: {}");
  CHECK_NOTHROW(check(true, "never"));
  CHECK_THROWS_WITH(check(false, "rule, got {}", 3), "rule, got 3");
  CHECK_THROWS_AS(check<DataError>(false, "file"), DataError);
  CHECK_THROWS_AS(fail("x"), Error);
}
