#include "collectives/communicator.h"

#include <cstring>
#include <utility>
#include <vector>

#include "collectives/scratch.h"

namespace ringlet {
namespace {

// Without elements there is nothing to do, and nobody to wait for: all ranks see the same zero.
bool moves_nothing(const Call& call) {
  return is_collective(call.operation) && has_buffers(call.operation) && agreed_count(call) == 0;
}

}  // namespace

Communicator::Communicator(int rank, int size, std::string group, uint64_t sequence)
    : rank_(rank), size_(size), group_(std::move(group)), memory_(Allocator::on(Device{})), sequence_(sequence) {
  check(size >= 1 && rank >= 0 && rank < size, "communicator: rank must be in 0 … size − 1, got {} of {}", rank, size);
}

// Checks the call and gives it its number.
Call Communicator::numbered(Call call) {
  check_call(call, rank_, size_);
  call.control = control_;
  call.sequence = is_collective(call.operation) ? ++sequence_ : ++messages_;
  return call;
}

CommError Communicator::during(const Call& call, const CommError& error) const {
  CommError::Where where = error.where();
  where.operation = name_of(call.operation);
  where.sequence = call.sequence;
  where.group = group_;
  return {where, error.reason()};
}

void Communicator::finish(Call call) {
  call = numbered(call);
  if (moves_nothing(call)) {
    return;
  }
  try {
    run(call);
  } catch (const CommError& error) {
    throw during(call, error);
  }
}

Work Communicator::begin(Call call) {
  call = numbered(call);
  if (moves_nothing(call)) {
    return {};
  }
  try {
    return start(call);
  } catch (const CommError& error) {
    throw during(call, error);
  }
}

namespace {

using Counts = std::span<const int64_t>;

Call broadcast_call(Buffer data, int root) {
  return {.operation = Operation::Broadcast, .in = data, .out = data, .peer = root};
}
Call reduce_call(ConstBuffer in, Buffer out, Reduction op, int root, int rank) {
  return {.operation = Operation::Reduce,
          .in = in,
          .out = rank == root ? out : Buffer(nullptr, 0, in.dtype, in.device),
          .op = op,
          .peer = root};
}
Call all_reduce_call(ConstBuffer in, Buffer out, Reduction op) {
  return {.operation = Operation::AllReduce, .in = in, .out = out, .op = op};
}
Call all_gather_call(ConstBuffer shard, Buffer full) { return {.operation = Operation::AllGather, .in = shard, .out = full}; }
Call reduce_scatter_call(ConstBuffer full, Buffer shard, Reduction op) {
  return {.operation = Operation::ReduceScatter, .in = full, .out = shard, .op = op};
}
Call gather_call(ConstBuffer shard, Buffer full, int root, int rank) {
  return {.operation = Operation::Gather,
          .in = shard,
          .out = rank == root ? full : Buffer(nullptr, 0, shard.dtype, shard.device),
          .peer = root};
}
Call scatter_call(ConstBuffer full, Buffer shard, int root, int rank) {
  return {.operation = Operation::Scatter,
          .in = rank == root ? full : ConstBuffer(nullptr, 0, shard.dtype, shard.device),
          .out = shard,
          .peer = root};
}
Call all_to_all_call(ConstBuffer in, Buffer out) { return {.operation = Operation::AllToAll, .in = in, .out = out}; }
Call all_to_all_v_call(ConstBuffer in, Counts to, Buffer out, Counts from) {
  return {.operation = Operation::AllToAllV, .in = in, .out = out, .counts = to, .source_counts = from};
}
Call send_call(ConstBuffer data, int dest, int tag) {
  return {.operation = Operation::Send, .in = data, .peer = dest, .tag = tag};
}
Call recv_call(Buffer data, int source, int tag) {
  return {.operation = Operation::Recv, .out = data, .peer = source, .tag = tag};
}
Call exchange_call(ConstBuffer out, int dest, Buffer in, int source, int tag) {
  return {.operation = Operation::Exchange, .in = out, .out = in, .peer = dest, .source = source, .tag = tag};
}
Call uneven(Call call, Operation operation, Counts counts) {
  call.operation = operation;
  call.counts = counts;
  return call;
}
Call at(Call call, CallSite site) {
  call.site = site;
  return call;
}

}  // namespace

void Communicator::broadcast(Buffer data, int root, CallSite site) { finish(at(broadcast_call(data, root), site)); }
void Communicator::reduce(ConstBuffer in, Buffer out, Reduction op, int root, CallSite site) {
  finish(at(reduce_call(in, out, op, root, rank_), site));
}
void Communicator::all_reduce(Buffer data, Reduction op, CallSite site) { finish(at(all_reduce_call(data, data, op), site)); }
void Communicator::all_reduce(ConstBuffer in, Buffer out, Reduction op, CallSite site) {
  finish(at(all_reduce_call(in, out, op), site));
}
void Communicator::all_gather(ConstBuffer shard, Buffer full, CallSite site) { finish(at(all_gather_call(shard, full), site)); }
void Communicator::reduce_scatter(ConstBuffer full, Buffer shard, Reduction op, CallSite site) {
  finish(at(reduce_scatter_call(full, shard, op), site));
}
void Communicator::gather(ConstBuffer shard, Buffer full, int root, CallSite site) {
  finish(at(gather_call(shard, full, root, rank_), site));
}
void Communicator::scatter(ConstBuffer full, Buffer shard, int root, CallSite site) {
  finish(at(scatter_call(full, shard, root, rank_), site));
}
void Communicator::all_to_all(ConstBuffer in, Buffer out, CallSite site) { finish(at(all_to_all_call(in, out), site)); }
void Communicator::all_gather_v(ConstBuffer shard, Buffer full, Counts counts, CallSite site) {
  finish(at(uneven(all_gather_call(shard, full), Operation::AllGatherV, counts), site));
}
void Communicator::reduce_scatter_v(ConstBuffer full, Buffer shard, Counts counts, Reduction op, CallSite site) {
  finish(at(uneven(reduce_scatter_call(full, shard, op), Operation::ReduceScatterV, counts), site));
}
void Communicator::gather_v(ConstBuffer shard, Buffer full, Counts counts, int root, CallSite site) {
  finish(at(uneven(gather_call(shard, full, root, rank_), Operation::GatherV, counts), site));
}
void Communicator::scatter_v(ConstBuffer full, Buffer shard, Counts counts, int root, CallSite site) {
  finish(at(uneven(scatter_call(full, shard, root, rank_), Operation::ScatterV, counts), site));
}
void Communicator::all_to_all_v(ConstBuffer in, Counts to, Buffer out, Counts from, CallSite site) {
  finish(at(all_to_all_v_call(in, to, out, from), site));
}
void Communicator::barrier(CallSite site) { finish({.site = site}); }
void Communicator::send(ConstBuffer data, int dest, int tag, CallSite site) { finish(at(send_call(data, dest, tag), site)); }
void Communicator::recv(Buffer data, int source, int tag, CallSite site) { finish(at(recv_call(data, source, tag), site)); }
void Communicator::exchange(ConstBuffer out, int dest, Buffer in, int source, int tag, CallSite site) {
  finish(at(exchange_call(out, dest, in, source, tag), site));
}

Work Communicator::start_broadcast(Buffer data, int root, CallSite site) { return begin(at(broadcast_call(data, root), site)); }
Work Communicator::start_reduce(ConstBuffer in, Buffer out, Reduction op, int root, CallSite site) {
  return begin(at(reduce_call(in, out, op, root, rank_), site));
}
Work Communicator::start_all_reduce(Buffer data, Reduction op, CallSite site) {
  return begin(at(all_reduce_call(data, data, op), site));
}
Work Communicator::start_all_reduce(ConstBuffer in, Buffer out, Reduction op, CallSite site) {
  return begin(at(all_reduce_call(in, out, op), site));
}
Work Communicator::start_all_gather(ConstBuffer shard, Buffer full, CallSite site) {
  return begin(at(all_gather_call(shard, full), site));
}
Work Communicator::start_reduce_scatter(ConstBuffer full, Buffer shard, Reduction op, CallSite site) {
  return begin(at(reduce_scatter_call(full, shard, op), site));
}
Work Communicator::start_gather(ConstBuffer shard, Buffer full, int root, CallSite site) {
  return begin(at(gather_call(shard, full, root, rank_), site));
}
Work Communicator::start_scatter(ConstBuffer full, Buffer shard, int root, CallSite site) {
  return begin(at(scatter_call(full, shard, root, rank_), site));
}
Work Communicator::start_all_to_all(ConstBuffer in, Buffer out, CallSite site) {
  return begin(at(all_to_all_call(in, out), site));
}
Work Communicator::start_all_gather_v(ConstBuffer shard, Buffer full, Counts counts, CallSite site) {
  return begin(at(uneven(all_gather_call(shard, full), Operation::AllGatherV, counts), site));
}
Work Communicator::start_reduce_scatter_v(ConstBuffer full, Buffer shard, Counts counts, Reduction op, CallSite site) {
  return begin(at(uneven(reduce_scatter_call(full, shard, op), Operation::ReduceScatterV, counts), site));
}
Work Communicator::start_gather_v(ConstBuffer shard, Buffer full, Counts counts, int root, CallSite site) {
  return begin(at(uneven(gather_call(shard, full, root, rank_), Operation::GatherV, counts), site));
}
Work Communicator::start_scatter_v(ConstBuffer full, Buffer shard, Counts counts, int root, CallSite site) {
  return begin(at(uneven(scatter_call(full, shard, root, rank_), Operation::ScatterV, counts), site));
}
Work Communicator::start_all_to_all_v(ConstBuffer in, Counts to, Buffer out, Counts from, CallSite site) {
  return begin(at(all_to_all_v_call(in, to, out, from), site));
}
Work Communicator::start_send(ConstBuffer data, int dest, int tag, CallSite site) {
  return begin(at(send_call(data, dest, tag), site));
}
Work Communicator::start_recv(Buffer data, int source, int tag, CallSite site) {
  return begin(at(recv_call(data, source, tag), site));
}
Work Communicator::start_exchange(ConstBuffer out, int dest, Buffer in, int source, int tag, CallSite site) {
  return begin(at(exchange_call(out, dest, in, source, tag), site));
}

std::unique_ptr<Communicator> Communicator::split(int color, int key, CallSite site) {
  // Everybody is here; from now on nobody waits for one who is not.
  finish({.operation = Operation::Split, .site = site});
  try {
    return do_split(color, key);
  } catch (const CommError& error) {
    throw during({.operation = Operation::Split, .sequence = sequence_}, error);
  }
}

}  // namespace ringlet
