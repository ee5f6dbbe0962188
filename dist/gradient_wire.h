// How gradients travel: as they are, or rounded to bf16, which halves the bytes of a step (PyTorch calls it a communication hook).
//
// The error of bf16, u = 2⁻⁸ being its unit roundoff: each rank's gradient is rounded once, the sum is made in fp32 and rounded once
// (collectives/reduce.h), so for N ranks, fp32's own roundings left out,
//   |Σ~ − Σ| ≤ u·Σ_r|g_r| + u·(1 + u)·Σ_r|g_r| = 2⁻⁷·(1 + 2⁻⁹)·Σ_r|g_r|
// relative to the sum of magnitudes, whatever cancels. The same in every strategy on the same number of ranks (hsdp rounds once more,
// between its two reductions); not on another number.
#pragma once

#include <utility>

#include "collectives/communicator.h"
#include "dist/collective_ops.h"
#include "tensor/tensor.h"

namespace ringlet {

/// A reduction under way. Its tensors may not be touched before `wait`.
class SentGradient {
 public:
  SentGradient() = default;
  SentGradient(Tensor out, Tensor in_wire, Tensor out_wire, Work work)
      : out_(std::move(out)), in_wire_(std::move(in_wire)), out_wire_(std::move(out_wire)), work_(std::move(work)) {}
  // What is under way is waited for before its tensors are let go.
  SentGradient(SentGradient&&) noexcept = default;
  SentGradient& operator=(SentGradient&& other) noexcept {
    work_ = std::move(other.work_);
    out_ = std::move(other.out_);
    in_wire_ = std::move(other.in_wire_);
    out_wire_ = std::move(other.out_wire_);
    return *this;
  }
  ~SentGradient() = default;
  void wait() {
    work_.wait();
    if (out_wire_.defined()) {
      out_.copy_from(out_wire_);
    }
    in_wire_ = out_wire_ = {};
  }

 private:
  Tensor out_, in_wire_, out_wire_;
  Work work_;  // destroyed, and so waited for, before what it writes to
};

/// gradient = Σ over ranks.
inline SentGradient send_all_reduce(Communicator& comm, Tensor gradient, bool as_bf16) {
  if (!as_bf16) {
    Work work = comm.start_all_reduce(buffer_of(gradient), ReduceOp::Sum);
    return {gradient, {}, {}, std::move(work)};
  }
  Tensor wire = gradient.to(DType::BF16, Category::Communication);
  Work work = comm.start_all_reduce(buffer_of(wire), ReduceOp::Sum);
  return {gradient, {}, wire, std::move(work)};
}

/// shard = this rank's piece of Σ over ranks of whole.
inline SentGradient send_reduce_scatter(Communicator& comm, const Tensor& whole, Tensor shard, bool as_bf16) {
  if (!as_bf16) {
    Work work = comm.start_reduce_scatter(const_buffer_of(whole), buffer_of(shard), ReduceOp::Sum);
    return {shard, {}, {}, std::move(work)};
  }
  const Tensor in_wire = whole.to(DType::BF16, Category::Communication);
  Tensor out_wire = Tensor::empty(shard.device(), shard.shape(), DType::BF16, Category::Communication);
  Work work = comm.start_reduce_scatter(const_buffer_of(in_wire), buffer_of(out_wire), ReduceOp::Sum);
  return {shard, in_wire, out_wire, std::move(work)};
}

}  // namespace ringlet
