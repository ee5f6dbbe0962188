// What every optimizer has: slices, groups, a count of updates, and state that can be saved.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "optim/param_group.h"

namespace ringlet {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update of every slice from its gradient; then updates() is one more. The gradients stay as they are. A rate that is negative
  /// or NaN is an `Error`; one beyond the range of the dtype is infinite in it.
  virtual void step(double lr) = 0;

  // `step` in two halves, for work that a device repeats (Gpu::record): `queue_update` is what is recorded; each time before it runs,
  // `prepare` comes, outside. The first pair runs unrecorded.
  /// Writes the numbers of the next update (learning rate, bias corrections) to the memory of the slices' device, in the order of the
  /// calling thread's other work, and counts that update.
  virtual void prepare(double lr) = 0;
  /// The update with the numbers that lie there when the device comes to it.
  virtual void queue_update() = 0;

  /// Fills every gradient with zeros.
  void zero_grad();

  /// Completed updates. Bias corrections are computed from it, so it is saved and restored with the state.
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates);

  std::span<const ParamGroup> groups() const { return groups_; }
  std::span<const ParamSlice> slices() const { return slices_; }
  /// What is kept per element: {"exp_avg", "exp_avg_sq"} for AdamW, {"momentum_buffer"} for Sgd with momentum.
  std::span<const std::string> state_kinds() const { return kinds_; }
  /// State `kind` of `slice`: 1-D, sharing memory, a view of the one flat tensor that holds this kind for all slices one after
  /// the other (Category::Optimizer; no padding). Zeros before the first update.
  Tensor state(size_t kind, size_t slice) const;

 protected:
  /// Throws `Error` where a slice breaks its contract, names a group that does not exist, or shares elements with another: such
  /// a parameter would be updated twice.
  Optimizer(std::vector<ParamGroup> groups, std::vector<ParamSlice> slices, std::vector<std::string> state_kinds);

  /// Elements before `slice` in a flat state tensor.
  int64_t begin_of(size_t slice) const { return begin_[slice]; }
  DType dtype() const { return dtype_; }
  Device device() const { return slices_.empty() ? Device{} : slices_.front().value.device(); }
  ParamSlice& slice(size_t i) { return slices_[i]; }
  double weight_decay_of(const ParamSlice& slice) const { return groups_[static_cast<size_t>(slice.group)].weight_decay; }
  Tensor& flat_state(size_t kind) { return state_[kind]; }
  void count_update() { ++updates_; }
  static void check_rate(double lr) { check(lr >= 0.0, "step: the learning rate must be 0 or more, got {}", lr); }
  /// What `prepare` writes and `queue_update` reads.
  template <typename Numbers>
  void keep_numbers(const Numbers& numbers) {
    static_assert(sizeof numbers <= kNumbersBytes && std::is_trivially_copyable_v<Numbers>);
    keep_bytes(&numbers, sizeof numbers);
  }
  template <typename Numbers>
  const Numbers* kept_numbers() const {
    check(numbers_.defined(), "optimizer: queue_update needs the numbers that prepare writes, which must come first");
    return reinterpret_cast<const Numbers*>(numbers_.data<uint8_t>());
  }

 private:
  static constexpr size_t kNumbersBytes = 64;
  void keep_bytes(const void* numbers, size_t bytes);

  std::vector<ParamGroup> groups_;
  std::vector<ParamSlice> slices_;
  std::vector<std::string> kinds_;
  std::vector<int64_t> begin_;
  std::vector<Tensor> state_;  // one per kind, each the total of the slices' elements
  Tensor numbers_;             // [kNumbersBytes]
  DType dtype_ = DType::F32;
  int64_t updates_ = 0;
};

}  // namespace ringlet
