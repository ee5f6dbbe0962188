// A training step of a GPT on a GPU: when the host waits, and the step as one piece of recorded work.
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "autograd/ops/cross_entropy.h"
#include "nn/gpt.h"
#include "tensor/base/gpu.h"
#include "tensor/ops/arithmetic.h"
#include "test/emulated_gpu/control.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

constexpr Device kGpu{Device::Kind::Cuda, 0};

// Forward and backward of a small GPT on one batch, whose tensors come from memory that nobody else uses.
struct Step {
  explicit Step(bool bf16) : scope(std::make_shared<Allocator>(gpu().memory(0))), model(config(bf16)) {
    std::vector<int32_t> ids, next;
    for (int32_t i = 0; i < 2 * 32; ++i) {
      ids.push_back(i * 7 % 64);
      next.push_back(i % 5 == 0 ? kIgnoreIndex : (i * 7 + 7) % 64);
    }
    tokens = Tensor::from(ids, {2, 32}), targets = Tensor::from(next, {2, 32});
  }
  static GptConfig config(bool bf16) {
    GptConfig config;
    config.embed_dim = 64, config.heads = 2, config.seq_len = 32, config.dropout = 0.1, config.bf16 = bf16;
    return config;
  }
  TokenLoss operator()() {
    const TokenLoss loss = model.loss(tokens, targets);
    backward(loss.sum);
    return loss;
  }
  void zero() {
    for (const NamedParameter& parameter : model.parameters()) {
      Tensor grad = parameter.var.grad();
      grad.zero();
    }
  }
  std::vector<double> gradients() {
    std::vector<double> all;
    for (const NamedParameter& parameter : model.parameters()) {
      const std::vector<double> values = parameter.var.grad().to_vector();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  AllocatorScope scope;
  Gpt model;
  Tensor tokens, targets;
};

uint64_t waits() {
  uint64_t sum = 0;
  for (const std::string_view call : {"cudaStreamSynchronize", "cudaStreamQuery", "cudaEventSynchronize",
                                      "cudaDeviceSynchronize", "cudaMemcpyAsync", "cudaMemcpy", "cudaMalloc", "cudaFree"}) {
    sum += emulated_gpu::calls(call);
  }
  return sum;
}

}  // namespace

TEST_CASE("A step neither waits for the device nor asks it for memory; reading the loss does") {
  for (const bool bf16 : {false, true}) {
    Step step(bf16);
    for (int warm = 0; warm < 3; ++warm) {
      step();
    }
    const uint64_t before = waits();
    const TokenLoss loss = step();
    CHECK(waits() == before);
    CHECK(loss.count == 51);
    CHECK(loss.sum.item() > 0.0);
    CHECK(waits() > before);
  }
}

TEST_CASE("A moment is marked without waiting, and what is between two moments is the time of the work") {
  Step step(false);
  step();
  const uint64_t before = waits();
  const auto start = gpu().mark();
  step();
  const auto middle = gpu().mark();
  step();
  const auto end = gpu().mark();
  CHECK(waits() == before);
  const double one = middle->seconds_since(*start), both = end->seconds_since(*start);
  CHECK(one > 0.0);
  CHECK(both > one);
  CHECK(std::abs(both - one - end->seconds_since(*middle)) < 1e-6 + 1e-6 * both);  // in fp32, by half microseconds
}

TEST_CASE("A step that was recorded can be repeated, with the same bits") {
  for (const bool bf16 : {false, true}) {
    Step step(bf16);
    for (int warm = 0; warm < 3; ++warm) {
      step();
    }
    step.zero();
    step();
    const std::vector<double> once = step.gradients();
    const std::unique_ptr<RecordedWork> recorded = gpu().record([&] { step(); });
    CHECK(step.gradients() == once);  // recording does nothing
    step.zero();
    recorded->launch();
    CHECK(step.gradients() == once);
    for (int again = 0; again < 2; ++again) {
      step.zero();
      recorded->launch();
    }
    CHECK(step.gradients() == once);
  }
}

TEST_CASE("A label out of range is told by the next wait, once, and its row changes nothing") {
  const AllocatorScope scope(std::make_shared<Allocator>(gpu().memory(0)));
  const Var logits(Tensor::zeros({2, 4}), true);
  const auto loss_of = [&](int32_t label) { return cross_entropy(logits, Tensor::from<int32_t>({1, label}, {2})); };
  const SummedLoss wrong = loss_of(4);
  CHECK_THROWS_WITH(gpu().synchronize(), Catch::Contains("label 4 at position 1, V = 4"));
  CHECK_NOTHROW(gpu().synchronize());
  CHECK(loss_of(3).count == 2);
}

TEST_CASE("What is not where it is needed is named") {
  const Tensor here = Tensor::zeros({2, 2}), there = Tensor::zeros(kGpu, {2, 2});
  CHECK_THROWS_WITH(here + there, Catch::Contains("add: operands lie on different devices, cpu and cuda:0"));
  CHECK_THROWS_WITH(there.span<float>(), Catch::Contains("the host cannot read what lies on cuda:0"));
  CHECK(there.to(Device{}).to_vector() == here.to_vector());
  CHECK((there + here.to(kGpu)).device() == kGpu);
  CHECK_THROWS_WITH(Tensor::zeros({2}, DType::BF16) + 1.0, Catch::Contains("add: needs f32 or f64, got bf16"));
}
