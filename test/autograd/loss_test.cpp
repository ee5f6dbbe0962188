// Cross-entropy as a sum and a count: one meaning of the mean, however the tokens are cut into micro-batches.
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "autograd/ops.h"
#include "tensor/ops/arithmetic.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;
using Catch::Matchers::Contains;

namespace {

Tensor labels(std::initializer_list<int32_t> values) {
  return Tensor::from<int32_t>(values, {static_cast<int64_t>(values.size())});
}

const int32_t kIgnored = kIgnoreIndex;

}  // namespace

TEST_CASE("The mean over a window of micro-batches is the sum of the token losses over the count of tokens [A1]") {
  const Tensor first = Tensor::from<double>({0, 3, 1, 1, 1, 1, 1, 1}, {4, 2}), second = Tensor::zeros({4, 2}, DType::F64);
  const Tensor first_labels = labels({0, kIgnored, kIgnored, kIgnored}), second_labels = labels({0, 0, 0, 0});
  const Var a = leaf(first), b = leaf(second), both = leaf(Tensor::zeros({8, 2}, DType::F64));
  {
    Tensor rows = both.data();
    rows.narrow(0, 0, 4).copy_from(first);
    rows.narrow(0, 4, 4).copy_from(second);
  }
  const SummedLoss one = cross_entropy(a, first_labels), two = cross_entropy(b, second_labels);
  const SummedLoss whole = cross_entropy(both, labels({0, kIgnored, kIgnored, kIgnored, 0, 0, 0, 0}));

  CHECK(one.count == 1);
  CHECK(two.count == 4);
  CHECK(whole.count == 5);
  const double mean = (one.sum.item() + two.sum.item()) / static_cast<double>(one.count + two.count);
  CHECK(mean == Approx(1.1642352).epsilon(1e-7));  // a mean of means gives 1.8708673
  CHECK(whole.sum.item() == Approx(mean * 5).epsilon(1e-15));

  backward(one.sum), backward(two.sum), backward(whole.sum);
  Tensor gradient = both.grad();
  CHECK(gradient.narrow(0, 0, 4).to_vector() == a.grad().to_vector());
  CHECK(gradient.narrow(0, 4, 4).to_vector() == b.grad().to_vector());
}

TEST_CASE("All labels ignored: sum 0, count 0, gradients exactly 0 [B1]") {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Var z = leaf(normal({4, 3}, "z", dtype));
    const SummedLoss loss = cross_entropy(z, labels({kIgnored, kIgnored, kIgnored, kIgnored}));
    CHECK(loss.sum.item() == 0.0);
    CHECK(loss.count == 0);
    backward(loss.sum);
    CHECK(z.grad().to_vector() == std::vector<double>(12, 0.0));
  }
  const SummedLoss counted = cross_entropy(leaf(Tensor::zeros({4, 2}, DType::F64)), labels({0, 1, 1, 0}));
  CHECK(counted.sum.item() / 4 == Approx(0.6931472).epsilon(1e-7));
}

TEST_CASE("Ignored rows add nothing, also when their logits are not finite [B1]") {
  Tensor logits = normal({3, 4}, "z");
  logits.narrow(0, 1, 1).fill(std::numeric_limits<double>::quiet_NaN());
  const Var z = leaf(logits);
  const SummedLoss loss = cross_entropy(z, labels({2, kIgnored, 0}));
  CHECK(std::isfinite(loss.sum.item()));
  backward(loss.sum);
  CHECK(z.grad().narrow(0, 1, 1).to_vector() == std::vector<double>(4, 0.0));
}

TEST_CASE("Large logits: no overflow, and softmax − onehot exactly where it is exact [B2]") {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Var far = leaf(Tensor::from<double>({-400, 250, 500}, {1, 3}).to(dtype));
    const Var near = leaf(Tensor::from<double>({1000, 1001, 1002}, {1, 3}).to(dtype));
    const Var far_loss = cross_entropy(far, labels({0})).sum, near_loss = cross_entropy(near, labels({0})).sum;
    CHECK(far_loss.item() == 900.0);
    CHECK(near_loss.item() == Approx(2.4076060).epsilon(1e-7));
    backward(far_loss), backward(near_loss);
    const double tiny = std::exp(-250.0);
    CHECK(far.grad().at(0) == -1.0);
    CHECK(far.grad().at(1) == Approx(tiny).margin(1e-40));
    CHECK(far.grad().at(2) == 1.0);
    const double eps = dtype == DType::F32 ? 1e-6 : 1e-14;
    CHECK(near.grad().at(0) == Approx(0.0900305732 - 1).epsilon(eps + 1e-9));
    CHECK(near.grad().at(1) == Approx(0.2447284711).epsilon(eps + 1e-9));
    CHECK(near.grad().at(2) == Approx(0.6652409558).epsilon(eps + 1e-9));
  }
}

TEST_CASE("The gradient of each row sums to zero") {
  const Var z = leaf(normal({5, 17}, "z"));
  backward(cross_entropy(z, labels({0, 16, 3, 3, 8})).sum);
  for (int64_t n = 0; n < 5; ++n) {
    const std::vector<double> row = z.grad().narrow(0, n, 1).to_vector();
    CHECK(std::accumulate(row.begin(), row.end(), 0.0) == Approx(0).margin(17 * 0x1p-53));
  }
}

TEST_CASE("A label outside of the vocabulary is an error that names position, label and V [B8]") {
  const Var z = leaf(normal({3, 65}, "z"));
  for (const int32_t wrong : {65, -1, 65535, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    CHECK_THROWS_WITH(cross_entropy(z, labels({0, wrong, 1})),
                      Contains("label " + std::to_string(wrong)) && Contains("position 1") && Contains("V = 65"));
  }
  CHECK_THROWS_WITH(cross_entropy(z, labels({0, 1})), Contains("shape must be [3], got [2]"));
  CHECK_THROWS_WITH(cross_entropy(z, Tensor::zeros({3}, DType::I64)), Contains("i32"));
  CHECK_THROWS_WITH(cross_entropy(leaf(1.0), Tensor::zeros({}, DType::I32)), Contains("got a scalar"));
}
