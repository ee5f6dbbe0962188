// What does not depend on threads: bits, and how denormal numbers are treated.
#include <thread>

#include "tensor/kernels/cpu/parallel.h"
#include "tensor/ops.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

// OpenMP's own switch, where the library was built with it; null elsewhere.
extern "C" __attribute__((weak)) void omp_set_num_threads(int);

using namespace ringlet;
using namespace ringlet::test;

namespace {

void use_threads(int count) {
  if (omp_set_num_threads != nullptr) {
    omp_set_num_threads(count);
  }
}

std::vector<Tensor> everything() {
  const Tensor x = normal({700, 1800}, "x"), y = normal({700, 1800}, "y"), gamma = normal({1800}, "gamma");
  const LayerNormed normed = layer_norm(x, gamma, gamma, 1e-5);
  const LayerNormGrads grads = layer_norm_backward(y, x, gamma, normed.mean, normed.rstd);
  Tensor ids = Tensor::empty({700}, DType::I32), in_place = x.clone();
  for (int32_t i = 0; i < 700; ++i) ids.mutable_data<int32_t>()[i] = i % 10;
  add_into(in_place, y);
  const CrossEntropy loss = cross_entropy(x, ids);
  const Tensor qkv = normal({2, 200, 3 * 128}, "qkv"), dy = normal({2, 200, 128}, "dy");
  const Attended attended = attention(qkv, 4, {}, {});
  return {x * y,
          x + gamma,
          in_place,
          exp(x),
          gelu(x, GeluForm::Erf),
          gelu_backward(y, x, GeluForm::Tanh),
          softmax(x),
          softmax_backward(x, y),
          normed.y,
          grads.dx,
          grads.dgamma,
          grads.dbeta,
          sum(x, 0),
          sum(x, 1),
          sum(x),
          max(x, 0),
          max(x, 1),
          loss.sum,
          loss.log_sum,
          cross_entropy_backward(Tensor::full({}, 1), x, ids, loss.log_sum),
          embedding(x, ids),
          embedding_backward(y, ids, 10),
          dropout(x, 0.3, RandomStream(1, "d")),
          attended.y,
          attended.log_sum,
          attention_backward(dy, qkv, attended, 4, {}, {}),
          matmul(x, y.transpose(0, 1))};
}

}  // namespace

TEST_CASE("the number of threads changes no bit", "[tensor]") {
  REQUIRE(700 * 1800 > kernels::kParallelWork);
  use_threads(1);
  const std::vector<Tensor> alone = everything();
  for (const int threads : {2, 3, 7}) {
    use_threads(threads);
    const std::vector<Tensor> together = everything();
    for (size_t i = 0; i < alone.size(); ++i) {
      CAPTURE(threads, i);
      REQUIRE(same_bits(together[i], alone[i]));
    }
  }
  use_threads(2);
}

TEST_CASE("every block of work is run once, and ranges cover all items", "[tensor]") {
  for (const int64_t blocks : {0, 1, 2, 17}) {
    for (const int64_t work : {int64_t{1}, kernels::kParallelWork}) {
      std::vector<int> runs(static_cast<size_t>(blocks), 0);
      kernels::parallel_for(blocks, work, [&](int64_t block) { runs[static_cast<size_t>(block)] += 1; });
      CHECK(runs == std::vector<int>(static_cast<size_t>(blocks), 1));
    }
  }
  for (const int64_t items : {0, 1, 1000, 300000}) {
    for (const int64_t work : {0, 1, 100, 1000000}) {
      std::vector<int> seen(static_cast<size_t>(items), 0);
      kernels::parallel_ranges(items, work, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) seen[static_cast<size_t>(i)] += 1;
      });
      CHECK(seen == std::vector<int>(static_cast<size_t>(items), 1));
    }
  }
}

TEST_CASE("[P2] denormal numbers are kept, on the main thread and on every other", "[tensor]") {
  const auto half = [] { return (Tensor::full({100}, 1e-40) * 0.5).at(99); };
  const double expected = static_cast<double>(5e-41F);
  CHECK(half() == expected);
  std::vector<double> results(4, 0.0);
  std::vector<std::thread> threads;
  for (double& result : results) threads.emplace_back([&result, &half] { result = half(); });
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<double>(4, expected));
  const Tensor large = Tensor::full({3000, 1000}, 1e-40) * 0.5;  // OpenMP's threads
  CHECK(same_bits(large, Tensor::full({3000, 1000}, 5e-41)));
}
