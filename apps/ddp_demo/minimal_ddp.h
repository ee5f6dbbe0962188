// Distributed data parallel in one screen (Li et al., VLDB 2020). Every rank holds the whole model, computes the gradient of its
// own slice of the batch, and takes the same step with the average of all of them.
//
//   N samples in P slices of n_r:   L = (1/N)·Σ_r n_r·L_r          L_r: the mean over the slice of rank r
//   dθ = ∂L/∂θ = (1/P)·Σ_r w_r·∂L_r/∂θ                             w_r = n_r·P/N
//
// Equal slices have w = 1, and dθ is "sum, then divide by the world size". Uneven slices need w: a mean of means is not the mean.
// Per step and rank: one all_reduce per parameter, 2(P−1)/P of its bytes. dist/ddp.h does the same in flat memory.
#pragma once

#include <cstdint>

#include "collectives/communicator.h"
#include "nn/module.h"
#include "tensor/ops.h"

namespace ringlet {

/// The elements of a contiguous tensor as a collective takes them, on whichever device they lie.
inline Buffer memory_of(Tensor& tensor) { return {tensor.mutable_raw_data(), tensor.numel(), tensor.dtype(), tensor.device()}; }

/// For fp32 modules. (all): every rank calls it, in the same order; it communicates.
class MinimalDdp {
 public:
  /// (all) The parameters and buffers of rank 0 become everybody's. `model` and `comm` must outlive this.
  // [snippet: broadcast]
  MinimalDdp(Module& model, Communicator& comm) : model_(model), comm_(comm) {
    for (const NamedParameter& parameter : model.parameters()) {
      Tensor data = parameter.var.data();
      comm.broadcast(memory_of(data), 0);
    }
    for (NamedBuffer& buffer : model.buffers()) {
      comm.broadcast(memory_of(buffer.tensor), 0);
    }
  }
  // [/snippet]

  /// (all) After backward() of the mean over this rank's `mine` samples: every gradient becomes that of the mean over all `batch`
  /// samples, on every rank. A parameter that got no gradient here (unused, or there was no sample) contributes zeros: a rank
  /// that left its all_reduce out would leave the others waiting for ever.
  // [snippet: average]
  void average_gradients(int64_t mine, int64_t batch) {
    const int P = comm_.size();
    const double weight = static_cast<double>(mine * P) / static_cast<double>(batch);  // exactly 1 when the slices are equal
    for (NamedParameter& parameter : model_.parameters()) {
      Var& var = parameter.var;
      if (!var.requires_grad()) {
        continue;  // frozen, on every rank
      }
      if (!var.grad().defined()) {
        var.set_grad(Tensor::zeros(var.shape(), var.dtype(), Category::Gradients));
      }
      Tensor gradient = var.grad();
      scale_into(gradient, weight);
      comm_.all_reduce(memory_of(gradient), ReduceOp::Sum);
      divide_into(gradient, P);
    }
  }
  // [/snippet]

 private:
  Module& model_;
  Communicator& comm_;
};

}  // namespace ringlet
