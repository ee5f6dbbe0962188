#include "tensor/ops/cross_entropy.h"

#include <limits>

#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

namespace {

Tensor labels(std::initializer_list<int32_t> values) {
  return Tensor::from<int32_t>(values, {static_cast<int64_t>(values.size())});
}

Tensor gradient(const Tensor& logits, const Tensor& targets, double d = 1) {
  return cross_entropy_backward(Tensor::full({}, d, logits.dtype()), logits, targets, cross_entropy(logits, targets).log_sum);
}

}  // namespace

TEST_CASE("[B2] large logits: the loss is a difference, the gradient is p minus one", "[tensor]") {
  const Tensor far = Tensor::from<float>({-400, 250, 500}, {1, 3}), near = Tensor::from<float>({1000, 1001, 1002}, {1, 3});
  CHECK(cross_entropy(far, labels({0})).sum.item() == 900);
  CHECK(gradient(far, labels({0})).to_vector() == std::vector<double>{-1, 0, 1});
  CHECK(cross_entropy(near, labels({0})).sum.item() == Approx(2.4076060).epsilon(1e-7));
  const Tensor dz = gradient(near, labels({0}));
  CHECK(dz.at(0) == Approx(.0900306 - 1).epsilon(2e-7));
  CHECK(dz.at(1) == Approx(.2447285).epsilon(3e-7));
  CHECK(dz.at(2) == Approx(.6652410).epsilon(2e-7));
}

TEST_CASE("cross-entropy and its gradient are the formula's", "[tensor]") {
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 2}, Shape{64, 64}, Shape{17, 65}, Shape{3, 5000}}) {
    for (const DType dtype : {DType::F32, DType::F64}) {
      const int64_t N = shape[0], V = shape[1];
      const Tensor z = normal(shape, "z", dtype);
      Tensor targets = Tensor::empty({N}, DType::I32);
      for (int64_t r = 0; r < N; ++r)
        targets.mutable_data<int32_t>()[r] = r % 5 == 3 ? kIgnoreIndex : static_cast<int32_t>(r * 7 % V);
      const CrossEntropy got = cross_entropy(z, targets);
      const Tensor dz = gradient(z, targets, 0.25);
      const double eps = (dtype == DType::F32 ? 0x1p-24 : 0x1p-53) * (8 + std::log2(static_cast<double>(V)));
      double loss = 0;
      int64_t count = 0;
      for (int64_t r = 0; r < N; ++r) {
        double total = 0;
        for (int64_t v = 0; v < V; ++v) total += std::exp(z.at(r * V + v));
        const bool counted = targets.at(r) != kIgnoreIndex;
        count += counted;
        loss += counted ? std::log(total) - z.at(r * V + static_cast<int64_t>(targets.at(r))) : 0;
        for (int64_t v = 0; v < V; ++v) {
          const double p = std::exp(z.at(r * V + v)) / total, onehot = static_cast<double>(v) == targets.at(r) ? 1 : 0;
          REQUIRE(std::fabs(dz.at(r * V + v) - (counted ? 0.25 * (p - onehot) : 0)) <= 4 * eps * (counted ? p + onehot : 0));
        }
      }
      CHECK(got.count == count);
      CHECK(std::fabs(got.sum.item() - loss) <= eps * (1 + loss));
      CHECK(got.sum.dtype() == dtype);
    }
  }
}

TEST_CASE("[B1] ignored labels add nothing, and their gradient is exactly 0", "[tensor]") {
  Tensor z = Tensor::zeros({4, 2});
  z.fill(std::nan(""));
  const Tensor ignored = labels({kIgnoreIndex, kIgnoreIndex, kIgnoreIndex, kIgnoreIndex});
  const CrossEntropy none = cross_entropy(z, ignored);
  CHECK(none.sum.item() == 0);
  CHECK(none.count == 0);
  CHECK(same_bits(none.log_sum, Tensor::zeros({4}, DType::F64)));
  CHECK(same_bits(gradient(z, ignored), Tensor::zeros({4, 2})));
  CHECK(cross_entropy(Tensor::zeros({4, 2}), labels({0, 0, 0, 0})).sum.item() / 4 == Approx(0.6931472).epsilon(1e-7));
  CHECK(cross_entropy(Tensor::zeros({0, 2}), Tensor::zeros({0}, DType::I32)).count == 0);
}

TEST_CASE("[A1] the sum over all rows is the sum over any split of them", "[tensor]") {
  const Tensor first = Tensor::from<float>({0, 3, 0, 0, 0, 0, 0, 0}, {4, 2}), second = Tensor::zeros({4, 2});
  const CrossEntropy one = cross_entropy(first, labels({0, kIgnoreIndex, kIgnoreIndex, kIgnoreIndex}));
  const CrossEntropy two = cross_entropy(second, labels({0, 0, 0, 0}));
  CHECK((one.sum.item() + two.sum.item()) / static_cast<double>(one.count + two.count) == Approx(1.1642352).epsilon(1e-7));
}

TEST_CASE("[B8] a label that is no class is named with its position, and nothing is read", "[tensor]") {
  const Tensor z = Tensor::zeros({3, 64});
  for (const int32_t bad :
       {64, -1, 65535, -99, -101, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    const std::string text = "cross_entropy: label " + std::to_string(bad) + " at position 2, V = 64";
    CHECK_THROWS_WITH(cross_entropy(z, labels({0, 63, bad})), Contains(text));
    CHECK_THROWS_WITH(cross_entropy_backward(Tensor::full({}, 1), z, labels({0, 63, bad}), Tensor::zeros({3}, DType::F64)),
                      Contains(text));
  }
}

TEST_CASE("NaN and masked logits reach the loss", "[tensor]") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Tensor z = normal({3, 20}, "nan");
  z.mutable_data<float>()[25] = std::nanf("");
  CHECK(std::isnan(cross_entropy(z, labels({0, 1, 2})).sum.item()));
  const Tensor masked = Tensor::from<float>({0, -kInf, 0}, {1, 3});
  CHECK(cross_entropy(masked, labels({0})).sum.item() == Approx(0.6931472));
  CHECK(gradient(masked, labels({0})).to_vector() == std::vector<double>{-.5, 0, .5});
  CHECK(cross_entropy(masked, labels({1})).sum.item() == kInf);
}

TEST_CASE("cross-entropy names wrong operands", "[tensor]") {
  CHECK_THROWS_WITH(cross_entropy(Tensor::zeros({3}), labels({0})), Contains("logits must be [N, V], got [3]"));
  CHECK_THROWS_WITH(cross_entropy(Tensor::zeros({3, 2}), labels({0})), Contains("targets: shape must be [3], got [1]"));
  CHECK_THROWS_WITH(cross_entropy(Tensor::zeros({1, 2}), Tensor::zeros({1})), Contains("targets: dtype must be i32, got f32"));
  CHECK_THROWS_WITH(cross_entropy(Tensor::zeros({1, 2}, DType::I32), labels({0})),
                    Contains("cross_entropy: needs f32 or f64, got i32"));
  CHECK_THROWS_WITH(
      cross_entropy_backward(Tensor::zeros({2}), Tensor::zeros({1, 2}), labels({0}), Tensor::zeros({1}, DType::F64)),
      Contains("d: shape must be [], got [2]"));
}
