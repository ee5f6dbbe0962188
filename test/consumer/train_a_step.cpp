// A training script of one's own: the ranks that were started together, a model, a strategy, ten steps.
#include <iostream>
#include <memory>

#include "collectives/backends/mpi.h"
#include "collectives/factory.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"
#include "tensor/base/build_info.h"
#include "tensor/tensor.h"

using namespace ringlet;

// Rank r counts upwards from r, modulo 8: what comes next can be learnt.
Tensor counting(int rank, int64_t first) {
  Tensor ids = Tensor::zeros({2, 8}, DType::I32);  // [B, T]
  for (int64_t i = 0; i < ids.numel(); ++i) {
    ids.mutable_data<int32_t>()[i] = static_cast<int32_t>((rank + first + i) % 8);
  }
  return ids;
}

int main() {
  const MpiSession session;
  const std::unique_ptr<Communicator> world = make_world("mpi");
  Gpt model({.layers = 1, .embed_dim = 16, .heads = 2, .vocab_size = 8, .seq_len = 8});
  const std::unique_ptr<Strategy> parallel = make_strategy("zero1", model, *world, OptimizerConfig{});

  const Tensor tokens = counting(world->rank(), 0), targets = counting(world->rank(), 1);
  double first = 0.0, last = 0.0;
  bool equal = true;
  for (int step = 0; step < 10; ++step) {
    LossSum loss;
    loss += parallel->forward_backward(tokens, targets);
    const StepResult result = parallel->finish(loss, 1.0);
    parallel->step(1e-2);
    equal = parallel->replicas_equal(parallel->parameter_hash()) && equal;
    (step == 0 ? first : last) = result.loss;
  }
  if (world->rank() == 0) {
    std::cout << "ringlet " << build_info().version << ", " << world->size() << " ranks: loss " << first << " -> " << last
              << (equal ? ", replicas equal\n" : ", replicas differ\n");
  }
  return last < 0.9 * first && equal ? 0 : 1;
}
