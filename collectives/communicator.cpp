#include "collectives/communicator.h"

#include <functional>
#include <utility>

namespace ringlet {
namespace {

constexpr int kLargestTag = 32000;  // MPI 3.1 promises 32,767

std::string_view name_of_verb(const Call& call) { return name_of(call.operation); }

void check_buffer(const Call& call, std::string_view which, const void* data, int64_t count, DType dtype) {
  check(count >= 0, "{}: {} has a negative count, got {}", name_of_verb(call), which, count);
  check(count <= INT64_MAX / static_cast<int64_t>(size_of(dtype)), "{}: {} is larger than any memory, got {} elements",
        name_of_verb(call), which, count);
  check(data != nullptr || count == 0, "{}: {} is null, got {} elements", name_of_verb(call), which, count);
}

// Both buffers present: same dtype, same device, and apart unless they are exactly `in_place`.
void check_pair(const Call& call, bool in_place) {
  const ConstBuffer& in = call.in;
  const Buffer& out = call.out;
  check(in.dtype == out.dtype, "{}: input and output differ in dtype, got {} and {}", name_of_verb(call), in.dtype, out.dtype);
  check(in.device == out.device, "{}: input and output are on different devices, got {} and {}", name_of_verb(call), in.device,
        out.device);
  if (in.count == 0 || out.count == 0) {
    return;
  }
  const std::less<> before;
  const bool apart = !before(in.begin(), out.begin() + out.bytes()) || !before(out.begin(), in.begin() + in.bytes());
  check(apart || in_place, "{}: input and output overlap without being in place, got output {} bytes after input",
        name_of_verb(call), static_cast<int64_t>(out.begin() - in.begin()));
}

void check_reducible(const Call& call) {
  check(supports(call.op, call.in.dtype), "{}: no {} of integers, got {}; use sum and divide", name_of_verb(call), call.op,
        call.in.dtype);
}

void check_root(const Call& call, int size) {
  check(call.peer >= 0 && call.peer < size, "{}: root must be a rank of 0 … {}, got {}", name_of_verb(call), size - 1,
        call.peer);
}

void check_message(const Call& call, int rank, int size) {
  check(call.peer >= 0 && call.peer < size && call.peer != rank,
        "{}: the peer of rank {} must be another rank of 0 … {}, got {}", name_of_verb(call), rank, size - 1, call.peer);
  check(call.tag >= 0 && call.tag <= kLargestTag, "{}: tag must be in 0 … {}, got {}", name_of_verb(call), kLargestTag,
        call.tag);
}

// `whole` holds `ranks` times `shard`.
void check_shards(const Call& call, int64_t whole, int64_t shard, int ranks) {
  check(whole == shard * ranks, "{}: the whole must hold {} shards, got {} elements and shards of {}", name_of_verb(call),
        ranks, whole, shard);
}

void check_call(const Call& call, int rank, int size) {
  check_buffer(call, "input", call.in.data, call.in.count, call.in.dtype);
  check_buffer(call, "output", call.out.data, call.out.count, call.out.dtype);
  const auto own = [&](const ConstBuffer& whole) {
    return whole.begin() + whole.bytes() / static_cast<size_t>(size) * static_cast<size_t>(rank);
  };
  switch (call.operation) {
    case Operation::Broadcast: check_root(call, size); return;
    case Operation::Reduce:
      check_root(call, size);
      check_reducible(call);
      if (rank == call.peer) {
        check_shards(call, call.out.count, call.in.count, 1);
        check_pair(call, call.in.begin() == call.out.begin());
      }
      return;
    case Operation::AllReduce:
      check_reducible(call);
      check(call.in.count == call.out.count, "all_reduce: input and output differ in count, got {} and {}", call.in.count,
            call.out.count);
      check_pair(call, call.in.begin() == call.out.begin());
      return;
    case Operation::AllGather:
      check_shards(call, call.out.count, call.in.count, size);
      check_pair(call, call.in.begin() == own(call.out));
      return;
    case Operation::ReduceScatter:
      check_reducible(call);
      check_shards(call, call.in.count, call.out.count, size);
      check_pair(call, call.out.begin() == own(call.in));
      return;
    case Operation::Send:
    case Operation::Recv: check_message(call, rank, size); return;
    case Operation::Barrier:
    case Operation::Split:
    case Operation::Leave: return;
  }
}

// Without elements there is nothing to do, and nobody to wait for: all ranks see the same zero.
bool moves_nothing(const Call& call) {
  return is_collective(call.operation) && has_buffers(call.operation) && call.in.count == 0;
}

}  // namespace

Communicator::Communicator(int rank, int size, std::string group) : rank_(rank), size_(size), group_(std::move(group)) {
  check(size >= 1 && rank >= 0 && rank < size, "communicator: rank must be in 0 … size − 1, got {} of {}", rank, size);
}

// Checks the call and gives it its number.
Call Communicator::numbered(Call call) {
  check_call(call, rank_, size_);
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

Call broadcast_call(Buffer data, int root) {
  return {.operation = Operation::Broadcast, .in = data, .out = data, .peer = root};
}
Call reduce_call(ConstBuffer in, Buffer out, ReduceOp op, int root) {
  return {.operation = Operation::Reduce, .in = in, .out = out, .op = op, .peer = root};
}
Call all_reduce_call(ConstBuffer in, Buffer out, ReduceOp op) {
  return {.operation = Operation::AllReduce, .in = in, .out = out, .op = op};
}
Call all_gather_call(ConstBuffer shard, Buffer full) { return {.operation = Operation::AllGather, .in = shard, .out = full}; }
Call reduce_scatter_call(ConstBuffer full, Buffer shard, ReduceOp op) {
  return {.operation = Operation::ReduceScatter, .in = full, .out = shard, .op = op};
}
Call send_call(ConstBuffer data, int dest, int tag) {
  return {.operation = Operation::Send, .in = data, .peer = dest, .tag = tag};
}
Call recv_call(Buffer data, int source, int tag) {
  return {.operation = Operation::Recv, .out = data, .peer = source, .tag = tag};
}

}  // namespace

void Communicator::broadcast(Buffer data, int root) { finish(broadcast_call(data, root)); }
void Communicator::reduce(ConstBuffer in, Buffer out, ReduceOp op, int root) { finish(reduce_call(in, out, op, root)); }
void Communicator::all_reduce(Buffer data, ReduceOp op) { finish(all_reduce_call(data, data, op)); }
void Communicator::all_reduce(ConstBuffer in, Buffer out, ReduceOp op) { finish(all_reduce_call(in, out, op)); }
void Communicator::all_gather(ConstBuffer shard, Buffer full) { finish(all_gather_call(shard, full)); }
void Communicator::reduce_scatter(ConstBuffer full, Buffer shard, ReduceOp op) { finish(reduce_scatter_call(full, shard, op)); }
void Communicator::barrier() { finish({}); }
void Communicator::send(ConstBuffer data, int dest, int tag) { finish(send_call(data, dest, tag)); }
void Communicator::recv(Buffer data, int source, int tag) { finish(recv_call(data, source, tag)); }

Work Communicator::start_broadcast(Buffer data, int root) { return begin(broadcast_call(data, root)); }
Work Communicator::start_reduce(ConstBuffer in, Buffer out, ReduceOp op, int root) {
  return begin(reduce_call(in, out, op, root));
}
Work Communicator::start_all_reduce(Buffer data, ReduceOp op) { return begin(all_reduce_call(data, data, op)); }
Work Communicator::start_all_reduce(ConstBuffer in, Buffer out, ReduceOp op) { return begin(all_reduce_call(in, out, op)); }
Work Communicator::start_all_gather(ConstBuffer shard, Buffer full) { return begin(all_gather_call(shard, full)); }
Work Communicator::start_reduce_scatter(ConstBuffer full, Buffer shard, ReduceOp op) {
  return begin(reduce_scatter_call(full, shard, op));
}
Work Communicator::start_send(ConstBuffer data, int dest, int tag) { return begin(send_call(data, dest, tag)); }
Work Communicator::start_recv(Buffer data, int source, int tag) { return begin(recv_call(data, source, tag)); }

std::unique_ptr<Communicator> Communicator::split(int color, int key) {
  finish({.operation = Operation::Split});  // everybody is here; from now on nobody waits for one who is not
  try {
    return do_split(color, key);
  } catch (const CommError& error) {
    CommError::Where where = error.where();
    where.operation = "split";
    where.sequence = sequence_;
    where.group = group_;
    throw CommError(where, error.reason());
  }
}

}  // namespace ringlet
