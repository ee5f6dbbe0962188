// Steps of training as recorded work: the same bits as kernel by kernel, whatever changes from step to step.
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "collectives/backends/local.h"
#include "dist/make_strategy.h"
#include "nn/gpt.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/sgd.h"
#include "tensor/base/gpu.h"
#include "test/emulated_gpu/control.h"
#include "test/support/catch.h"

using namespace ringlet;

namespace {

constexpr int kWarm = 2, kSteps = 6;

GptConfig small_gpt() {
  GptConfig config;
  config.embed_dim = 16, config.heads = 2, config.seq_len = 16, config.vocab_size = 32, config.layers = 1, config.dropout = 0.2;
  return config;
}

// Token i of a batch of its own for every `number`.
Tensor batch(int64_t rows, int64_t number, int64_t ahead) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < rows * 16; ++i) {
    ids.push_back(static_cast<int32_t>((i + ahead) * (3 + number) % 32));
  }
  return Tensor::from(ids, {rows, 16});
}

double lr_of(int step) { return 1e-2 / (step + 1); }

std::vector<double> values_of(const Module& model) {
  std::vector<double> all;
  for (const NamedParameter& parameter : model.parameters()) {
    const std::vector<double> values = parameter.var.data().to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::unique_ptr<Optimizer> make(std::string_view name, const Module& model) {
  if (name == "sgd") {
    return std::make_unique<Sgd>(decay_groups(0.1), slices_of(model.parameters()),
                                 SgdConfig{.momentum = 0.9, .dampening = 0.5});
  }
  return std::make_unique<AdamW>(decay_groups(0.1), slices_of(model.parameters()));
}

// The parameters after kSteps steps on one batch, clipped, each with a learning rate and dropout masks of its own. Recorded: from step
// kWarm on as one piece of work, update included.
std::vector<double> train(std::string_view optimizer_name, bool recorded) {
  const AllocatorScope scope(std::make_shared<Allocator>(gpu().memory(0)));
  Gpt model(small_gpt());
  const std::unique_ptr<Optimizer> optimizer = make(optimizer_name, model);
  const Tensor tokens = batch(2, 0, 0), targets = batch(2, 0, 1);
  Tensor index = Tensor::zeros({1}, DType::I64);
  if (recorded) {
    for (const auto& [path, module] : model.modules()) {
      if (auto* dropout = dynamic_cast<Dropout*>(module)) {
        dropout->read_index_at(index);
      }
    }
  }
  const auto step = [&] {
    optimizer->zero_grad();
    backward(model.loss(tokens, targets).sum);
    if (recorded) {
      clip_gradients(optimizer->slices(), 1.0);
      optimizer->queue_update();
    }
  };
  std::unique_ptr<RecordedWork> work;
  for (int i = 0; i < kSteps; ++i) {
    if (!recorded) {
      model.set_dropout_index(static_cast<uint64_t>(i));
      step();
      const double norm = gradient_norm(optimizer->slices());
      CHECK(norm > 1.0);  // so that clipping has something to do
      scale_gradients(optimizer->slices(), clip_coefficient(norm, 1.0));
      optimizer->step(lr_of(i));
      continue;
    }
    index.fill(i);
    optimizer->prepare(lr_of(i));
    if (i < kWarm) {
      step();
    } else {
      work = work == nullptr ? gpu().record(step) : std::move(work);
      work->launch();
    }
  }
  CHECK(optimizer->updates() == kSteps);
  return values_of(model);
}

uint64_t launches() { return emulated_gpu::calls("cudaLaunchKernel"); }
uint64_t repetitions() { return emulated_gpu::calls("cudaGraphLaunch"); }

struct Trained {
  std::vector<double> losses, parameters;
  uint64_t launches, repetitions;  // of the last step
  int64_t activations;             // at most, in bytes
};

// A program's loop under a strategy: three micro-batches a step, the last one smaller.
Trained train_under(std::string_view strategy, bool record) {
  const auto allocator = std::make_shared<Allocator>(gpu().memory(0));
  const AllocatorScope scope(allocator);
  const std::unique_ptr<Communicator> alone = make_local();
  Gpt model(small_gpt());
  ParallelOptions options;
  options.record = record;
  const std::unique_ptr<Strategy> parallel = make_strategy(strategy, model, *alone, OptimizerConfig{}, options);
  Trained trained{};
  for (int step = 0; step < kSteps; ++step) {
    const uint64_t launches_before = launches(), repetitions_before = repetitions();
    LossSum loss;
    for (int64_t micro = 0; micro < 3; ++micro) {
      const int64_t number = 3 * step + micro, rows = micro == 2 ? 1 : 2;
      const NoSync local = parallel->no_sync(micro < 2);
      model.set_dropout_index(static_cast<uint64_t>(number));
      loss += parallel->forward_backward(batch(rows, number, 0).to(Device{}), batch(rows, number, 1).to(Device{}));
    }
    trained.losses.push_back(parallel->finish(loss, 1.0).loss);
    parallel->step(lr_of(step));
    trained.launches = launches() - launches_before, trained.repetitions = repetitions() - repetitions_before;
  }
  trained.parameters = values_of(model);
  trained.activations = allocator->ledger().of(Category::Activations).peak;
  return trained;
}

}  // namespace

TEST_CASE("A whole step can be recorded, clipping and update included") {
  for (const std::string_view optimizer : {"adamw", "sgd"}) {
    CAPTURE(optimizer);
    CHECK(train(optimizer, true) == train(optimizer, false));
  }
}

TEST_CASE("Strategies repeat forward and backward as recorded work, with the same bits") {
  for (const std::string_view strategy : {"ddp", "zero1"}) {
    CAPTURE(strategy);
    const Trained plain = train_under(strategy, false), recorded = train_under(strategy, true);
    CHECK(recorded.losses == plain.losses);
    CHECK(recorded.parameters == plain.parameters);
    CHECK(plain.repetitions == 0);
    CHECK(recorded.repetitions == 3);
    CHECK(recorded.launches < plain.launches / 3);
    CHECK(recorded.activations >= plain.activations);
    CHECK(recorded.activations < plain.activations + plain.activations / 10);
  }
  CHECK_THROWS_WITH(train_under("fsdp", true), Catch::Contains("fsdp communicates inside forward and backward"));
}
