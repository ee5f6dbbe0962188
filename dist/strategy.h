// How a model is trained on many ranks, as the training loop sees it. The loop is the same for every strategy:
//
//   LossSum loss;
//   for (int micro = 0; micro < micro_batches; ++micro) {
//     const auto local = parallel.no_sync(micro + 1 < micro_batches);
//     loss += parallel.forward_backward(tokens, targets);
//   }
//   const StepResult result = parallel.finish(loss, max_norm);
//   if (result.finite) parallel.step(lr); else parallel.skip();
//
// One meaning of the mean: losses and gradients are sums over counted tokens, divided once by the number of counted tokens of
// the whole global batch (all micro-batches, all ranks), after the reduction and before clipping.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "dist/memory_formula.h"
#include "dist/state_piece.h"
#include "dist/tree_sum.h"
#include "nn/loss.h"
#include "tensor/base/allocator.h"
#include "tensor/later.h"
#include "tensor/tensor.h"

namespace ringlet {

/// The loss of one micro-batch: Σ over its counted tokens, and how many they are.
using LossFunction = std::function<TokenLoss(const Tensor& tokens, const Tensor& targets)>;

/// The same as numbers, which a device may still be computing.
struct TokenSum {
  Later<double> sum;
  Later<int64_t> count;
};

/// This rank's loss of a step: Σ over its micro-batches in order T. Adding never waits for a device, reading does.
class LossSum {
 public:
  LossSum& operator+=(TokenSum term) {
    terms_.push_back(std::move(term));
    return *this;
  }
  double sum() const {
    TreeSum sum;
    for (const TokenSum& term : terms_) {
      sum.add(term.sum);
    }
    return sum.value();
  }
  int64_t count() const {
    int64_t count = 0;
    for (const TokenSum& term : terms_) {
      count += term.count;
    }
    return count;
  }

 private:
  std::vector<TokenSum> terms_;
};

/// What `finish` found; the same on every rank.
struct StepResult {
  double loss = 0.0;         // mean over the counted tokens of the global batch; 0 when there is none
  double grad_norm = 0.0;    // of the mean gradient, all ranks and shards together, before clipping
  double coefficient = 1.0;  // what clipping multiplied the gradient by
  int64_t tokens = 0;        // counted tokens of the global batch. 0: `step` will change nothing
  bool finite = true;        // loss and grad_norm both
};

class Strategy;

/// While it lives, and was made active, micro-batches only accumulate.
class [[nodiscard]] NoSync {
 public:
  NoSync(Strategy& strategy, bool active);
  ~NoSync();
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;

 private:
  Strategy& strategy_;
  bool previous_;
};

/// While it lives, every rank holds the whole parameters: for export, sampling, or an evaluation of one's own. Only reading: what is written
/// into parameters is lost, but in ddp; to change them, overwrite `state()`. All ranks make it and let go of it together, between steps, and
/// take no step meanwhile.
class [[nodiscard]] Summoned {
 public:
  explicit Summoned(Strategy& strategy);
  ~Summoned();
  Summoned(const Summoned&) = delete;
  Summoned& operator=(const Summoned&) = delete;

 private:
  Strategy& strategy_;
};

/// All ranks call the same members in the same order; those marked (all) communicate. A rank without a micro-batch calls
/// `finish` all the same. They pass the same `max_norm` and `lr`; another one, or a rank that is a step ahead, is an `Error` on all in the
/// next `finish`. Which parameters are frozen is settled when the strategy is made. The module and the communicator outlive the strategy;
/// with fsdp and hsdp the values of parameters end with it, so save or summon before.
class Strategy {
 public:
  Strategy() = default;
  virtual ~Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  /// "ddp", "zero1", "zero2", "fsdp", "hsdp".
  virtual std::string_view name() const = 0;

  /// Active on all micro-batches of a step but the last, whose backward may already communicate: none may follow it.
  NoSync no_sync(bool active) { return {*this, active}; }
  /// One micro-batch: its gradient is added, in order T, to the step's. What lies on the host is copied to where the parameters are.
  virtual TokenSum forward_backward(const Tensor& tokens, const Tensor& targets) = 0;
  /// (all) Forward only, without gradients.
  virtual TokenSum evaluate(const Tensor& tokens, const Tensor& targets) = 0;
  /// (all) Reduces loss, counts and gradients, divides by the count, takes the norm and clips to `max_norm` (≤ 0: no clipping).
  /// Changes neither parameters nor optimizer.
  virtual StepResult finish(const LossSum& local, double max_norm) = 0;
  /// (all) One update with the gradients of `finish`; afterwards all ranks compute with the new parameters. Nothing changes
  /// when no token was counted. An `Error` before `finish`, or when its result was not finite.
  virtual void step(double lr) = 0;
  /// Drops this step's gradients and changes nothing else. All ranks or none: who skips alone is a step ahead.
  virtual void skip() = 0;

  /// (all) √ Σ p² over all logical elements, exact and rounded once: the same for any sharding.
  virtual double parameter_norm() = 0;
  /// (all) Fingerprint of all parameters as this rank would compute with them (parameter_hash.h): the same for any sharding.
  virtual uint64_t parameter_hash() = 0;
  /// (all) Whether every rank came with the same hash; and, where an update overwrites what ranks computed with, whether that was on each
  /// rank still what `parameter_hash` found after the update before.
  virtual bool replicas_equal(uint64_t hash) = 0;

  /// The state that outlives the process, in memory shared with the strategy: this rank's part, 1/N of the whole, in the same
  /// order on every rank. To save it, write it; to load it, overwrite it and call `adopt_state`.
  virtual std::vector<StatePiece> state() = 0;
  /// (all) The pieces of `state()` have been overwritten on every rank: brings everything else in line with them.
  virtual void adopt_state(int64_t updates) = 0;

  /// (all) See Summoned.
  Summoned summon() { return Summoned(*this); }

  virtual MemoryFormula memory_formula() const = 0;
  /// What of it is offloaded, to mapped files or from a GPU to the host, and so not in the rank's own allocator.
  virtual MemoryLedger offloaded() const { return {}; }
  /// Logical elements of all parameters, each once, frozen ones too.
  virtual int64_t parameter_count() const = 0;
  /// Optimizer updates so far.
  virtual int64_t updates() const = 0;

 protected:
  bool accumulates_only() const { return accumulates_only_; }

 private:
  friend class NoSync;
  friend class Summoned;
  virtual void make_whole(bool whole) = 0;
  bool accumulates_only_ = false;
};

inline NoSync::NoSync(Strategy& strategy, bool active) : strategy_(strategy), previous_(strategy.accumulates_only_) {
  strategy.accumulates_only_ = active || previous_;
}
inline Summoned::Summoned(Strategy& strategy) : strategy_(strategy) { strategy_.make_whole(true); }
inline Summoned::~Summoned() { strategy_.make_whole(false); }
inline NoSync::~NoSync() { strategy_.accumulates_only_ = previous_; }

}  // namespace ringlet
