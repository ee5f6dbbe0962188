// Collectives on tensors. A strided view takes part through a contiguous copy and gets its result copied back; its neighbours
// in the storage stay untouched. A view stretched by strides of 0 is an `Error` where it would be written.
#pragma once

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

}  // namespace ringlet
