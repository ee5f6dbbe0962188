#include "dist/data_parallel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/grad_mode.h"
#include "collectives/control_scope.h"
#include "dist/agreement.h"
#include "dist/collective_ops.h"
#include "dist/global_norm.h"
#include "dist/parameter_hash.h"
#include "dist/replica_check.h"
#include "optim/clip.h"

namespace ringlet {
namespace {

// Everything that finish() has to add up besides the gradient, in one message of doubles: the loss in order T, whole numbers
// exactly.
struct StepSums {
  double loss = 0.0;
  int64_t tokens = 0;
  SquareSum squares;

  void all_reduce(Communicator& comm) {
    const ControlScope control(comm);
    constexpr size_t kHead = 2;
    std::array<double, kHead + SquareSum::kWords> all{loss, static_cast<double>(tokens)};
    const auto words = squares.words();
    std::copy(words.begin(), words.end(), all.begin() + kHead);
    comm.all_reduce(all, ReduceOp::Sum);
    loss = all[0];
    tokens = static_cast<int64_t>(all[1]);
    squares = SquareSum::from_words(std::span(all).last<SquareSum::kWords>());
  }
};

// g ← (g/count)·coefficient: two roundings, in this order, in one pass.
void divide_and_scale(Tensor gradient, int64_t count, double coefficient) {
  dispatch_real("finish", gradient.dtype(), [&]<typename T>() {
    const T c = static_cast<T>(count), s = static_cast<T>(coefficient);
    for (T& g : gradient.mutable_span<T>()) {
      g = g / c * s;
    }
  });
}

std::vector<NamedParameter> agreed_parameters(Communicator& comm, const Module& module) {
  check_same_module(comm, module);
  return module.parameters();
}

}  // namespace

DataParallel::DataParallel(Module& module, LossFunction loss, Communicator& comm)
    : loss_(std::move(loss)),
      comm_(comm),
      parameters_(agreed_parameters(comm, module)),
      buffers_(module.buffers()),
      parameter_(parameters_, comm.size()),
      gradient_(parameter_),
      parameter_count_(module.parameter_count()) {
  broadcast(comm, parameter_.data(), 0);
  for (const Fixed& fixed : fixed_tensors()) {
    broadcast(comm, fixed.tensor, 0);
  }
}

TokenSum DataParallel::forward_backward(const Tensor& tokens, const Tensor& targets) {
  check(phase_ == Phase::Accumulating,
        "forward_backward: this step's gradient is {}; every micro-batch but the last belongs under no_sync(true), and step or "
        "skip ends a step",
        phase_ == Phase::Finished ? "finished" : "communicated");
  gradient_.begin_micro_batch();
  const bool last = !accumulates_only();
  if (last) {
    begin_last_micro_batch();
  }
  const TokenLoss loss = loss_(tokens, targets);
  if (loss.sum.requires_grad()) {
    backward(loss.sum);
  }
  if (last) {
    end_last_micro_batch();
  }
  gradient_.end_micro_batch();
  phase_ = last ? Phase::Synced : Phase::Accumulating;
  return {loss.sum.item(), loss.count};
}

TokenSum DataParallel::evaluate(const Tensor& tokens, const Tensor& targets) {
  const NoGrad no_grad;
  const TokenLoss loss = loss_(tokens, targets);
  return {loss.sum.item(), loss.count};
}

StepResult DataParallel::finish(const LossSum& local, double max_norm) {
  check(phase_ != Phase::Finished, "finish: this step is finished already; step or skip ends it");
  gradient_.finish();
  reduce_gradient();
  StepSums sums{local.sum(), local.count(), {}};
  sums.squares.add(my_shard(gradient()));
  sums.all_reduce(comm_);

  const int64_t count = std::max<int64_t>(sums.tokens, 1);  // without a token the sums are 0, and so are the means
  result_ = {.loss = sums.loss / static_cast<double>(count),
             .grad_norm = sums.squares.norm() / static_cast<double>(count),
             .tokens = sums.tokens};
  result_.finite = std::isfinite(result_.loss) && std::isfinite(result_.grad_norm);
  if (result_.finite) {
    result_.coefficient = clip_coefficient(result_.grad_norm, max_norm);
    divide_and_scale(used_gradient(), count, result_.coefficient);
  }
  phase_ = Phase::Finished;
  return result_;
}

void DataParallel::step(double lr) {
  check(phase_ == Phase::Finished, "step: finish must come first");
  check(result_.finite, "step: loss {} and gradient norm {} must be finite; skip this step", result_.loss, result_.grad_norm);
  if (result_.tokens > 0) {
    update(lr);
  }
  skip();
}

void DataParallel::skip() {
  forget_reduction();
  gradient_.clear();
  phase_ = Phase::Accumulating;
}

double DataParallel::parameter_norm() {
  SquareSum sum;
  sum.add(parameter_.data());  // padding is 0
  for (const NamedParameter& parameter : parameters_) {
    if (!parameter.var.requires_grad()) {
      sum.add(parameter.var.data().contiguous());
    }
  }
  return sum.norm();
}

uint64_t DataParallel::parameter_hash() {
  uint64_t hash = 0;
  for (const NamedParameter& parameter : parameters_) {
    hash += ringlet::parameter_hash(parameter.name, 0, parameter.var.data().contiguous());
  }
  return hash;
}

bool DataParallel::replicas_equal(uint64_t hash) { return same_on_all_ranks(comm_, hash); }

std::vector<DataParallel::Fixed> DataParallel::fixed_tensors() const {
  std::vector<Fixed> fixed;
  const auto add = [&](const std::string& name, const std::string& kind, const Tensor& tensor) {
    fixed.push_back({name, kind, tensor, static_cast<int>(fixed.size()) % comm_.size()});
  };
  for (const NamedParameter& parameter : parameters_) {
    if (!parameter.var.requires_grad()) {
      add(parameter.name, "frozen", parameter.var.data());
    }
  }
  for (const NamedBuffer& buffer : buffers_) {
    add(buffer.name, "buffer", buffer.tensor);
  }
  return fixed;
}

std::vector<StatePiece> DataParallel::state() {
  const auto& entries = parameter_.entries();
  std::vector<StatePiece> pieces;
  for (size_t i = 0; i < entries.size(); ++i) {
    const FlatParameter::Overlap mine = shard_overlap(i, comm_.rank());
    pieces.push_back({entries[i].name, "master", entries[i].var.shape(), mine.begin_in_entry,
                      master_shard().narrow(0, mine.begin_in_range, mine.count)});
  }
  for (size_t kind = 0; kind < optimizer().state_kinds().size(); ++kind) {
    for (size_t i = 0; i < entries.size(); ++i) {
      pieces.push_back({entries[i].name, optimizer().state_kinds()[kind], entries[i].var.shape(),
                        shard_overlap(i, comm_.rank()).begin_in_entry, optimizer_state_shard(kind, i)});
    }
  }
  for (const Fixed& fixed : fixed_tensors()) {
    const int64_t count = fixed.owner == comm_.rank() ? fixed.tensor.numel() : 0;
    pieces.push_back(
        {fixed.name, fixed.kind, fixed.tensor.shape(), 0, fixed.tensor.view({fixed.tensor.numel()}).narrow(0, 0, count)});
  }
  return pieces;
}

void DataParallel::adopt_state(int64_t updates) {
  skip();
  optimizer().set_updates(updates);
  spread_state();
  for (const Fixed& fixed : fixed_tensors()) {
    broadcast(comm_, fixed.tensor, fixed.owner);
  }
}

MemoryFormula DataParallel::memory_formula_of(int64_t optimizer_bytes) const {
  MemoryFormula formula{parameter_.data().bytes(), gradient_.copies() * parameter_.data().bytes(), optimizer_bytes};
  for (const Fixed& fixed : fixed_tensors()) {
    formula.parameters += fixed.tensor.bytes();
  }
  return formula;
}

void DataParallel::gather_shards(Tensor flat) {
  const Tensor mine = my_shard(flat);
  comm_.all_gather(const_buffer_of(mine), buffer_of(flat));
}

}  // namespace ringlet
