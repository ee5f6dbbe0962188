// The transposes of collectives. Backward communicates in the order in which the ranks walk their graphs.
#include "autograd/record.h"
#include "dist/collective_ops.h"

namespace ringlet {
namespace {

struct BroadcastRule {
  static constexpr std::string_view kName = "broadcast";
  Communicator* comm;
  int root;

  Grads backward(const Tensor& dy) const {
    const Tensor sum = dy.clone();
    all_reduce(*comm, sum, ReduceOp::Sum);
    return {comm->rank() == root ? sum : Tensor::zeros(dy.device(), dy.shape(), dy.dtype())};
  }
};

struct AllReduceRule {
  static constexpr std::string_view kName = "all_reduce";
  Communicator* comm;

  Grads backward(const Tensor& dy) const {
    const Tensor sum = dy.clone();
    all_reduce(*comm, sum, ReduceOp::Sum);
    return {sum};
  }
};

struct AllGatherRule {
  static constexpr std::string_view kName = "all_gather";
  Communicator* comm;
  Grads backward(const Tensor& dy) const { return {reduce_scatter(*comm, dy, ReduceOp::Sum)}; }
};

struct ReduceScatterRule {
  static constexpr std::string_view kName = "reduce_scatter";
  Communicator* comm;
  Grads backward(const Tensor& dy) const { return {all_gather(*comm, dy)}; }
};

}  // namespace

Var broadcast(Communicator& comm, const Var& x, int root) {
  const Tensor y = x.data().clone();
  broadcast(comm, y, root);
  return record(y, {x}, BroadcastRule{&comm, root});
}

Var all_reduce(Communicator& comm, const Var& x) {
  const Tensor y = x.data().clone();
  all_reduce(comm, y, ReduceOp::Sum);
  return record(y, {x}, AllReduceRule{&comm});
}

Var all_gather(Communicator& comm, const Var& shard) {
  return record(all_gather(comm, shard.data()), {shard}, AllGatherRule{&comm});
}

Var reduce_scatter(Communicator& comm, const Var& full) {
  return record(reduce_scatter(comm, full.data(), ReduceOp::Sum), {full}, ReduceScatterRule{&comm});
}

}  // namespace ringlet
