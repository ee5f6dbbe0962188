#include "tensor/ops/dropout.h"

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

TEST_CASE("dropout keeps exactly the elements whose number is at least p, and scales them", "[tensor]") {
  const RandomStream stream(3, "dropout", 5);
  for (const double p : {0.1, 0.5, 0.9}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      for (const uint64_t first : {0, 1, 3, 1000}) {
        const Tensor x = normal({3, 7, 50}, "x", dtype), y = dropout(x, p, stream, first);
        for (int64_t i = 0; i < x.numel(); ++i) {
          const bool keep = static_cast<double>(stream.uniform(first + static_cast<uint64_t>(i))) >= p;
          const double scale = dtype == DType::F32 ? static_cast<double>(static_cast<float>(1 / (1 - p))) : 1 / (1 - p);
          REQUIRE(y.at(i) == Approx(keep ? x.at(i) * scale : 0).epsilon(1e-7));
        }
      }
    }
  }
}

TEST_CASE("a part of a tensor is dropped as the whole is, whatever the strides", "[tensor]") {
  const RandomStream stream(3, "dropout");
  const Tensor x = normal({10, 30}, "x"), whole = dropout(x, 0.4, stream);
  for (const int64_t row : {0, 1, 7}) {
    CHECK(same_bits(dropout(x.narrow(0, row, 3), 0.4, stream, static_cast<uint64_t>(row * 30)), whole.narrow(0, row, 3)));
  }
  CHECK(same_bits(dropout(x.transpose(0, 1).contiguous().transpose(0, 1), 0.4, stream), whole));
}

TEST_CASE("dropout keeps the share and the mean that p promises", "[tensor]") {
  constexpr int64_t kMany = 1 << 20;
  for (const double p : {0.1, 0.75}) {
    const Tensor y = dropout(Tensor::full({kMany}, 1), p, RandomStream(1, "share"));
    int64_t kept = 0;
    for (const float value : y.span<float>()) kept += value != 0;
    const double share = static_cast<double>(kept) / kMany, deviation = std::sqrt(p * (1 - p) / kMany);
    CHECK(std::fabs(share - (1 - p)) < 5 * deviation);
  }
}

TEST_CASE("without dropout the result is a copy; a probability of 1 or none is refused", "[tensor]") {
  const Tensor x = normal({4}, "x"), y = dropout(x, 0, RandomStream(1, "none"));
  CHECK(same_bits(x, y));
  CHECK_FALSE(y.shares_storage(x));
  for (const double p : {1.0, -0.1, 2.0, std::nan("")}) {
    CHECK_THROWS_WITH(dropout(x, p, RandomStream(1, "none")),
                      Contains("dropout: the probability must be at least 0 and below 1"));
  }
  CHECK_THROWS_WITH(dropout(Tensor::zeros({2}, DType::I32), 0.5, RandomStream(1, "none")),
                    Contains("dropout: needs f32 or f64, got i32"));
}
