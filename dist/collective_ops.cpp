#include "dist/collective_ops.h"

#include <utility>

namespace ringlet {
namespace {

// Calls `collective` with contiguous memory that holds the tensor's elements, and brings the result back into the view.
template <typename Collective>
void in_contiguous_memory(std::string_view who, Tensor& tensor, Collective&& collective) {
  check(tensor.defined(), "{}: undefined tensor", who);
  if (tensor.is_contiguous()) {
    collective(buffer_of(tensor));
    return;
  }
  for (int d = 0; d < tensor.rank(); ++d) {
    check(tensor.dim(d) < 2 || tensor.strides()[d] != 0,
          "{}: dim {} of a tensor of shape {} is stretched, its elements are one and the same; clone it first", who, d,
          tensor.shape());
  }
  Tensor copy = tensor.clone(Category::Communication);
  collective(buffer_of(copy));
  tensor.copy_from(copy);
}

}  // namespace

Buffer buffer_of(Tensor& tensor) {
  check(tensor.is_contiguous(), "buffer_of: needs contiguous elements, got shape {} with strides {}", tensor.shape(),
        tensor.strides());
  return {tensor.mutable_raw_data(), tensor.numel(), tensor.dtype(), tensor.device()};
}

ConstBuffer const_buffer_of(const Tensor& tensor) {
  check(tensor.is_contiguous(), "const_buffer_of: needs contiguous elements, got shape {} with strides {}", tensor.shape(),
        tensor.strides());
  return {tensor.raw_data(), tensor.numel(), tensor.dtype(), tensor.device()};
}

void broadcast(Communicator& comm, Tensor tensor, int root) {
  in_contiguous_memory("broadcast", tensor, [&](Buffer data) { comm.broadcast(data, root); });
}

void all_reduce(Communicator& comm, Tensor tensor, ReduceOp op) {
  in_contiguous_memory("all_reduce", tensor, [&](Buffer data) { comm.all_reduce(data, op); });
}

Tensor all_gather(Communicator& comm, const Tensor& shard) {
  check(shard.defined() && shard.rank() > 0, "all_gather: needs a tensor with at least one dim, to gather along");
  const Tensor mine = shard.contiguous();
  Tensor full = Tensor::empty(mine.device(), mine.shape().with(0, comm.size() * mine.dim(0)), mine.dtype());
  comm.all_gather(const_buffer_of(mine), buffer_of(full));
  return full;
}

Tensor reduce_scatter(Communicator& comm, const Tensor& full, ReduceOp op) {
  check(full.defined() && full.rank() > 0, "reduce_scatter: needs a tensor with at least one dim, to scatter along");
  check(full.dim(0) % comm.size() == 0, "reduce_scatter: dim 0 must be a multiple of the {} ranks, got shape {}", comm.size(),
        full.shape());
  const Tensor whole = full.contiguous();
  Tensor shard = Tensor::empty(whole.device(), whole.shape().with(0, whole.dim(0) / comm.size()), whole.dtype());
  comm.reduce_scatter(const_buffer_of(whole), buffer_of(shard), op);
  return shard;
}

}  // namespace ringlet
