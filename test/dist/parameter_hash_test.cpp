#include "dist/parameter_hash.h"

#include <set>

#include "test/dist/toy_module.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

TEST_CASE("the hash of parts adds up to the hash of the whole, wherever it is cut", "[dist]") {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::U8}) {
    const Tensor x = floats({1, -2, 3, 0, 5, 6, 7, 8, 9, 10, 11}).to(dtype);
    const uint64_t whole = parameter_hash("w", 0, x);
    for (int64_t cut = 0; cut <= x.numel(); ++cut) {
      const uint64_t lower = parameter_hash("w", 0, x.narrow(0, 0, cut));
      const uint64_t upper = parameter_hash("w", cut, x.narrow(0, cut, x.numel() - cut));
      CHECK(lower + upper == whole);
    }
  }
}

TEST_CASE("the hash sees every value, place and name", "[dist]") {
  std::set<uint64_t> seen;
  const auto is_new = [&](uint64_t hash) { return seen.insert(hash).second; };
  CHECK(is_new(parameter_hash("w", 0, floats({1, 2, 3}))));
  CHECK(is_new(parameter_hash("w", 0, floats({2, 1, 3}))));     // two that change places
  CHECK(is_new(parameter_hash("w", 1, floats({1, 2, 3}))));     // shifted
  CHECK(is_new(parameter_hash("v", 0, floats({1, 2, 3}))));     // another name
  CHECK(is_new(parameter_hash("w", 0, floats({1, 2, 3, 0}))));  // a zero more
  CHECK(is_new(parameter_hash("w", 0, floats({0, 2, 3}))));
  CHECK(is_new(parameter_hash("w", 0, floats({-0.0F, 2, 3}))));  // equal in value, not in bits
  CHECK(is_new(parameter_hash("w", 0, floats({1, 2, 3.0000002F}))));
  // Two tensors that swap their values.
  CHECK(parameter_hash("a", 0, floats({1})) + parameter_hash("b", 0, floats({2})) !=
        parameter_hash("a", 0, floats({2})) + parameter_hash("b", 0, floats({1})));
}

TEST_CASE("no two of 100,000 places and values collide", "[dist]") {
  std::set<uint64_t> seen;
  for (int64_t i = 0; i < 1000; ++i) {
    for (int v = 0; v < 100; ++v) {
      seen.insert(parameter_hash("w", i, floats({static_cast<float>(v)})));
    }
  }
  CHECK(seen.size() == 100000);
}

TEST_CASE("the hash is the same on every machine and prints as 16 digits", "[dist]") {
  CHECK(hash_to_hex(0x0123456789abcdefULL) == "0123456789abcdef");
  CHECK(hash_to_hex(parameter_hash("w", 0, floats({1, 2, 3}))) == "86b9e5b730873b18");
}
