// What kernels leave for the next one of an op is each host thread's own, and recorded work finds it where it was.
#include "tensor/kernels/cuda/scratch.h"

#include <thread>

#include "tensor/kernels/cuda/embedding.h"
#include "tensor/kernels/cuda/labels.h"
#include "tensor/kernels/cuda/reduce.h"
#include "test/gpu/bound.h"
#include "test/gpu/shifted.h"

using namespace ringlet;
using namespace ringlet::test;
using kernels::cuda::check_cuda;

namespace {

constexpr int64_t kRows = 3000, kColumns = 9;

std::vector<float> column_sums(const Shifted<float>& x) {
  const Shifted<float> y(kColumns, 0);
  kernels::cuda::sum(x.data(), y.data(), 1, kRows, kColumns);
  return y.values();
}

}  // namespace

TEST_CASE("kernels of host threads that run at once do not disturb each other", "[gpu]") {
  constexpr int kThreads = 3, kTimes = 20;
  const auto operand = [](int t) { return operands<float>(kRows * kColumns, "x" + std::to_string(t)); };
  std::vector<std::vector<float>> alone;
  for (int t = 0; t < kThreads; ++t) alone.push_back(column_sums(Shifted<float>(operand(t), 0)));
  std::vector<int> same(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Shifted<float> x(operand(t), 0);
      const Shifted<int32_t> ids(std::vector<int32_t>(100, t), 0);
      for (int i = 0; i < kTimes; ++i) {
        kernels::cuda::check_ids(ids.data(), 100, kThreads);
        same[static_cast<size_t>(t)] += same_bits(column_sums(x), alone[static_cast<size_t>(t)]) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(same == std::vector<int>(kThreads, kTimes));
}

TEST_CASE("recorded work keeps its scratch when a larger op comes between", "[gpu]") {
  constexpr int64_t N = 500, C = 8, V = 40;
  std::vector<int32_t> ids;
  for (int32_t n = 0; n < N; ++n) ids.push_back(n * 7 % V);
  const Shifted<int32_t> positions(ids, 0);
  const Shifted<float> dy(operands<float>(N * C, "dy"), 0), first(std::vector<float>(V * C), 0),
      second(std::vector<float>(V * C), 0);
  kernels::cuda::embedding_backward(dy.data(), positions.data(), first.data(), N, C, V);

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t recorded = nullptr;
  check_cuda(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  kernels::cuda::embedding_backward(dy.data(), positions.data(), second.data(), N, C, V);
  check_cuda(cudaStreamEndCapture(cudaStreamPerThread, &graph), "cudaStreamEndCapture");
  check_cuda(cudaGraphInstantiate(&recorded, graph, 0), "cudaGraphInstantiate");

  const std::byte* small = kernels::cuda::scratch(1);
  CHECK(kernels::cuda::scratch(size_t{100} << 20) != small);  // more than there was
  CHECK(kernels::cuda::scratch(1) == small);
  check_cuda(cudaGraphLaunch(recorded, cudaStreamPerThread), "cudaGraphLaunch");
  CHECK(same_bits(second.values(), first.values()));
  check_cuda(cudaGraphExecDestroy(recorded), "cudaGraphExecDestroy");
  check_cuda(cudaGraphDestroy(graph), "cudaGraphDestroy");
}
