#include "tensor/ops/embedding.h"

#include <limits>

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

TEST_CASE("an embedding picks rows, for ids of any shape and strides", "[tensor]") {
  const Tensor table = normal({5, 3}, "table");
  const Tensor ids = Tensor::from<int32_t>({4, 0, 2, 2, 1, 3}, {2, 3});
  for (const Tensor& rows : {table, table.transpose(0, 1).contiguous().transpose(0, 1)}) {
    for (const Tensor& chosen : {ids, ids.transpose(0, 1), ids.narrow(1, 1, 1), ids.narrow(0, 0, 0)}) {
      const Tensor y = embedding(rows, chosen);
      REQUIRE(y.rank() == 3);
      for (int64_t n = 0; n < chosen.numel(); ++n) {
        for (int64_t c = 0; c < 3; ++c) REQUIRE(y.at(n * 3 + c) == table.at(static_cast<int64_t>(chosen.at(n)) * 3 + c));
      }
    }
  }
  CHECK(embedding(table, Tensor::from<int32_t>({3}, {})).shape() == Shape{3});
}

TEST_CASE("[D3] the gradient of an embedding adds up repeated ids", "[tensor]") {
  const Tensor ids = Tensor::from<int32_t>({2, 2, 0, 2}, {4}), dy = Tensor::full({4, 2}, 1);
  CHECK(embedding_backward(dy, ids, 4).to_vector() == std::vector<double>{1, 1, 0, 0, 3, 3, 0, 0});
  CHECK(embedding_backward(dy.to(DType::F64), ids, 4).dtype() == DType::F64);
  CHECK(same_bits(embedding_backward(Tensor::zeros({0, 2}), Tensor::zeros({0}, DType::I32), 3), Tensor::zeros({3, 2})));
}

TEST_CASE("[D4] an id that occurs very often loses no increment, and the order is fixed", "[tensor]") {
  const Tensor ids = Tensor::full({700}, 7, DType::I32);
  const Tensor ones = Tensor::full({700, 3}, 1, DType::BF16);
  CHECK(embedding_backward(ones, ids, 9).narrow(0, 7, 1).to_vector() == std::vector<double>{700, 700, 700});  // in bf16: 256
  // Large enough for threads: still the sum in ascending order, every time.
  const Tensor dy = normal({20000, 130}, "dy"), many = Tensor::zeros({20000}, DType::I32);
  const Tensor first = embedding_backward(dy, many, 1);
  for (int run = 0; run < 4; ++run) REQUIRE(same_bits(embedding_backward(dy, many, 1), first));
  for (const int64_t c : {0, 64, 129}) {
    float total = 0;
    for (int64_t n = 0; n < 20000; ++n) total += dy.data<float>()[n * 130 + c];
    CHECK(first.at(c) == total);
  }
}

TEST_CASE("[B8] an id outside of the table is named with its position, and nothing is read", "[tensor]") {
  const Tensor table = Tensor::zeros({65, 2});
  for (const int32_t bad : {65, -1, -100, 65535, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    const Tensor ids = Tensor::from<int32_t>({0, 64, bad}, {3});
    CHECK_THROWS_WITH(embedding(table, ids), Contains("embedding: id " + std::to_string(bad) + " at position 2, V = 65"));
    CHECK_THROWS_WITH(embedding_backward(Tensor::zeros({3, 2}), ids, 65), Contains("embedding: id " + std::to_string(bad)));
  }
  CHECK_THROWS_WITH(embedding(table, Tensor::zeros({3})), Contains("embedding: ids: dtype must be i32, got f32"));
  CHECK_THROWS_WITH(embedding(Tensor::zeros({3}), Tensor::zeros({1}, DType::I32)), Contains("table must be [V, C], got [3]"));
  CHECK_THROWS_WITH(embedding(Tensor::zeros({0, 2}), Tensor::zeros({1}, DType::I32)), Contains("V = 0"));
  CHECK_THROWS_WITH(embedding_backward(Tensor::zeros({2, 2}), Tensor::zeros({3}, DType::I32), 4),
                    Contains("dy: shape must be [3, 2], got [2, 2]"));
  CHECK_THROWS_WITH(embedding_backward(Tensor::zeros({3}), Tensor::zeros({3}, DType::I32), 4),
                    Contains("dy must be [..., C] for ids [3]"));
}
