#include "dist/data_parallel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "autograd/grad_mode.h"
#include "collectives/control_scope.h"
#include "dist/agreement.h"
#include "dist/collective_ops.h"
#include "dist/global_norm.h"
#include "dist/parameter_rules.h"
#include "dist/replica_check.h"
#include "optim/clip.h"
#include "tensor/base/gpu.h"
#include "tensor/base/hash.h"
#include "tensor/base/mapped_arena.h"
#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

// Everything that finish() has to add up besides the gradient, in one message of doubles: the loss in order T, whole numbers
// exactly.
struct StepSums {
  double loss = 0.0;
  int64_t tokens = 0;
  SquareSum squares;

  // Whether all ranks have come with the same `settings`: x and x² of a hash, whole numbers, sum to P·x and P·x² on nobody if they differ.
  bool all_reduce(Communicator& comm, uint64_t settings) {
    const ControlScope control(comm);
    constexpr size_t kHead = 4;
    const auto x = static_cast<double>(settings >> 43U),
               P = static_cast<double>(comm.size());  // 21 bits: exact up to 2048 ranks
    std::array<double, kHead + SquareSum::kWords> all{loss, static_cast<double>(tokens), x, x * x};
    const auto words = squares.words();
    std::copy(words.begin(), words.end(), all.begin() + kHead);
    comm.all_reduce(all, ReduceOp::Sum);
    loss = all[0];
    tokens = static_cast<int64_t>(all[1]);
    squares = SquareSum::from_words(std::span(all).last<SquareSum::kWords>());
    return all[2] == P * x && all[3] == P * x * x;
  }
};

void divide_and_scale(Tensor gradient, int64_t count, double coefficient) {
  dispatch_real("finish", gradient.dtype(), [&]<typename T>() {
    kernels::tables_on(gradient.device().kind)
        .of<T>()
        .divide_and_scale(gradient.mutable_data<T>(), gradient.numel(), static_cast<T>(count), static_cast<T>(coefficient));
  });
}

// Where what is offloaded lives; null: nothing is.
std::shared_ptr<Allocator> make_offload(const ParallelOptions& options, Device device) {
  const bool on_host = device == Device{};
  check(options.offload_dir.empty() || on_host, "offload: a directory is for parameters on the CPU, they are on {}", device);
  check(!options.offload_to_host || !on_host, "offload: to the host is for parameters on a GPU, they are on {}", device);
  if (options.offload_to_host) {
    return std::make_shared<Allocator>(gpu().pinned());
  }
  return options.offload_dir.empty() ? nullptr : std::make_shared<Allocator>(mapped_arena(options.offload_dir));
}

Device device_of(const std::vector<NamedParameter>& parameters) {
  return parameters.empty() ? Device{} : parameters.front().var.data().device();
}

std::vector<NamedParameter> agreed_parameters(Communicator& comm, const Module& module, const OptimizerConfig& config,
                                              const ParallelOptions& options) {
  check_same_module(comm, module);
  check_same_options(comm, options);
  check_same_optimizer(comm, config);
  static_cast<void>(make_optimizer(config, {}));  // that it can be made is known before parameters leave their memory
  check_parameters(module);
  return module.parameters();
}

}  // namespace

DataParallel::DataParallel(Module& module, LossFunction loss, Communicator& comm, Cut cut, const OptimizerConfig& config,
                           const ParallelOptions& options)
    : loss_(std::move(loss)),
      comm_(comm),
      options_(options),
      parameters_(agreed_parameters(comm, module, config, options)),
      offload_(make_offload(options, device_of(parameters_))),
      buffers_(module.buffers()),
      cut_(cut),
      parameter_count_(module.parameter_count()) {
  std::copy_if(parameters_.begin(), parameters_.end(), std::back_inserter(frozen_),
               [](const NamedParameter& one) { return !one.var.requires_grad(); });
  for (const Fixed& fixed : fixed_tensors()) {
    broadcast(comm, fixed.tensor, 0);
  }
}

DataParallel::DataParallel(Module& module, LossFunction loss, Communicator& comm, const OptimizerConfig& config,
                           const ParallelOptions& options)
    : DataParallel(module, std::move(loss), comm, {comm.size(), comm.rank()}, config, options) {
  add_unit(parameters_);
  if (options.record) {
    recorded_ = std::make_unique<RecordedPasses>(module, unit().parameter.data().device());
  }
}

DataParallel::Unit& DataParallel::add_unit(const std::vector<NamedParameter>& parameters) {
  units_.push_back(std::make_unique<Unit>(parameters, cut_.shards));
  broadcast(comm_, units_.back()->parameter.data(), 0);
  return *units_.back();
}

Tensor DataParallel::rarely_used(const Tensor& tensor, Category category) {
  if (offload_ == nullptr) {
    return tensor.clone(category);
  }
  const AllocatorScope scope(offload_);
  Tensor copy = Tensor::empty(tensor.shape(), tensor.dtype(), category);
  copy.copy_from(tensor);
  return copy;
}

Tensor DataParallel::seen_by_optimizer(const Tensor& gradient) {
  if (!options_.offload_to_host) {
    return gradient;
  }
  gradients_on_host_.push_back({gradient, rarely_used(gradient, Category::Gradients)});
  return gradients_on_host_.back().on_host;
}

void DataParallel::run_optimizer(double lr) {
  for (HostCopy& gradient : gradients_on_host_) {
    gradient.on_host.copy_from(gradient.on_device);
  }
  optimizer_->step(lr);
}

void DataParallel::make_optimizer_over(const OptimizerConfig& config, std::vector<ParamSlice> slices) {
  const AllocatorScope scope(offload_ != nullptr ? offload_ : Allocator::current());
  optimizer_ = make_optimizer(config, std::move(slices));
}

TokenSum DataParallel::forward_backward(const Tensor& tokens, const Tensor& targets) {
  check(phase_ == Phase::Accumulating,
        "forward_backward: this step's gradient is {}; every micro-batch but the last belongs under no_sync(true), and step or "
        "skip ends a step",
        phase_ == Phase::Finished ? "finished" : "communicated");
  check(loss_ != nullptr, "forward_backward: the strategy must be made with a loss, got none");
  check_not_summoned("forward_backward");
  check_places();
  TokenSum sum;
  run_micro_batch(accumulates_only(), [&] {
    if (recorded_ != nullptr) {
      const auto pass = [this](const Tensor& x, const Tensor& y) { return forward_and_backward(x, y); };
      sum = recorded_->run(unit().gradient.term(), tokens, targets, pass);
    } else {
      const TokenLoss loss = forward_and_backward(on_device(tokens), on_device(targets));
      sum = {Later<double>(loss.sum.data()), loss.count};
    }
  });
  return sum;
}

TokenLoss DataParallel::forward_and_backward(Tensor tokens, Tensor targets) {
  TokenLoss loss = loss_(tokens, targets);
  tokens = targets = Tensor();  // in backward their rules hold them, as long as they need them
  begin_backward();
  if (loss.sum.requires_grad()) {
    backward(loss.sum);
  }
  return loss;
}

// A variable that was given other memory, or has come to require a gradient since, would be trained by nobody, without a sign of it.
void DataParallel::check_places() const {
  constexpr const char* kFrozen =
      "forward_backward: parameter {} {} when the strategy was made, and must be still; make a new strategy";
  for (const auto& unit : units_) {
    for (const FlatParameter::Entry& entry : unit->parameter.entries()) {
      check(entry.var.requires_grad(), kFrozen, entry.name, "was trained");
      check(
          entry.var.data().shares_storage(unit->parameter.data()),
          "forward_backward: parameter {} must stay in the memory that the strategy gave it; load a state instead of set_data",
          entry.name);
    }
  }
  for (const NamedParameter& one : frozen_) {
    check(!one.var.requires_grad(), kFrozen, one.name, "was frozen");
  }
}

void DataParallel::check_not_summoned(const char* verb) const {
  check(summoned_ == 0, "{}: the parameters are summoned, only to be read; let go of them first", verb);
}

// What a loader made on the host goes to where the parameters are. An undefined tensor is one that the loss does not need.
Tensor DataParallel::on_device(const Tensor& batch) const {
  return batch.defined() ? batch.to(units_.front()->parameter.data().device()) : batch;
}

// [snippet: run_micro_batch]
// A micro-batch; or, without a `pass`, what a rank that has none left adds to the others': zeros, and its part in their collectives.
void DataParallel::run_micro_batch(bool more, const std::function<void()>& pass) {
  const bool last = in_rounds() ? !another_round(more) : !more;
  const bool reduces = last || options_.reduce_every_micro_batch;
  begin_micro_batch(reduces);
  if (pass != nullptr) {
    pass();
  } else {
    idle_forward();
    begin_backward();
    idle_backward();
  }
  end_micro_batch(reduces);
  most_rounds_ = std::max(most_rounds_, ++rounds_);
  phase_ = last ? Phase::Synced : Phase::Accumulating;
}
// [/snippet]

// Whether any rank has another micro-batch after this one.
bool DataParallel::another_round(bool more) {
  const ControlScope control(comm_);
  std::array<int32_t, 1> any{more ? 1 : 0};
  comm_.all_reduce(any, ReduceOp::Max);
  return any[0] != 0;
}

TokenSum DataParallel::evaluate(const Tensor& tokens, const Tensor& targets) {
  const NoGrad no_grad;
  begin_evaluation();
  const TokenLoss loss = loss_(on_device(tokens), on_device(targets));
  end_evaluation();
  return {Later<double>(loss.sum.data()), loss.count};
}

StepResult DataParallel::finish(const LossSum& local, double max_norm) {
  check(phase_ != Phase::Finished, "finish: this step is finished already; step or skip ends it");
  check_not_summoned("finish");
  while (phase_ != Phase::Synced) {
    run_micro_batch(false, nullptr);
  }
  finish_reduction();
  check(local.count() >= 0, "finish: the tokens that are counted must not be negative, got {}", local.count());
  const uint64_t settings =
      mix64(mix64(std::bit_cast<uint64_t>(max_norm) + static_cast<uint64_t>(steps_)) + std::bit_cast<uint64_t>(last_lr_));
  StepSums sums{local.sum(), local.count(), {}};
  for (const Tensor& shard : gradient_shards()) {
    sums.squares.add(shard);
  }
  if (!sums.all_reduce(comm_, settings)) {
    check_same_step(comm_, steps_, max_norm, last_lr_);
  }
  const int64_t count = std::max<int64_t>(sums.tokens, 1);  // without a token the sums are 0, and so are the means
  result_ = {.loss = sums.loss / static_cast<double>(count),
             .grad_norm = sums.squares.norm() / static_cast<double>(count),
             .tokens = sums.tokens};
  result_.finite = std::isfinite(result_.loss) && std::isfinite(result_.grad_norm);
  if (result_.finite) {
    result_.coefficient = clip_coefficient(result_.grad_norm, max_norm);
    for (const Tensor& gradient : used_gradients()) {
      divide_and_scale(gradient, count, result_.coefficient);
    }
  }
  phase_ = Phase::Finished;
  return result_;
}

void DataParallel::step(double lr) {
  check(phase_ == Phase::Finished, "step: finish must come first");
  check(result_.finite, "step: loss {} and gradient norm {} must be finite; skip this step", result_.loss, result_.grad_norm);
  check_not_summoned("step");
  if (result_.tokens > 0) {
    look_for_drift();
    update(lr);
    last_lr_ = lr;
    last_hash_.reset();
  }
  skip();
}

void DataParallel::skip() {
  forget_reduction();
  for (const auto& unit : units_) {
    unit->gradient.clear();
  }
  ++steps_;
  rounds_ = 0;
  phase_ = Phase::Accumulating;
}

}  // namespace ringlet
