// Collectives on tensors. A strided view takes part through a contiguous copy and gets its result copied back; its neighbours
// in the storage stay untouched. A view stretched by strides of 0 is an `Error` where it would be written.
#pragma once

#include "autograd/variable.h"
#include "collectives/communicator.h"
#include "tensor/tensor.h"

namespace ringlet {

/// A contiguous tensor lent to a collective; anything else is an `Error`.
Buffer buffer_of(Tensor& tensor);
ConstBuffer const_buffer_of(const Tensor& tensor);

/// tensor on every rank = tensor on `root`.
void broadcast(Communicator& comm, Tensor tensor, int root);
/// tensor on every rank = reduction of tensor over ranks.
void all_reduce(Communicator& comm, Tensor tensor, ReduceOp op);
/// The shards [n, …] of all ranks behind one another along dim 0: [P·n, …]. A new tensor.
Tensor all_gather(Communicator& comm, const Tensor& shard);
/// Rows [r·n, (r + 1)·n) of the reduction of full [P·n, …] over ranks. A new tensor. dim 0 must be a multiple of P.
Tensor reduce_scatter(Communicator& comm, const Tensor& full, ReduceOp op);

// The same as ops of autograd, sums. A collective is a linear map A from all ranks' inputs to all ranks' outputs, and backward is its
// transpose: the pairs below are each other's. The loss is the sum over ranks of what each rank's backward starts from, so all ranks
// run backward, in the same order. `comm` must outlive the graph.
/// y = x of `root`, on every rank.         dx = Σ over ranks of dy on `root`, 0 elsewhere
Var broadcast(Communicator& comm, const Var& x, int root);
/// y = Σ over ranks of x.                  dx = Σ over ranks of dy
Var all_reduce(Communicator& comm, const Var& x);
/// y = all ranks' shards along dim 0.      dshard = this rank's rows of Σ over ranks of dy
Var all_gather(Communicator& comm, const Var& shard);
/// y = this rank's rows of Σ over ranks.   dfull = all ranks' dy along dim 0
Var reduce_scatter(Communicator& comm, const Var& full);

}  // namespace ringlet
