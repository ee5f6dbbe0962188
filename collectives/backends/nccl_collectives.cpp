#include "collectives/backends/nccl_collectives.h"

#include <algorithm>

#include "collectives/chunks.h"

namespace ringlet {
namespace {

constexpr size_t kInboxBytes = size_t{64} << 20;    // for the P inputs of a segment together: long enough to fill a wire
constexpr size_t kOneShotBytes = size_t{32} << 10;  // up to here one step of P·N bytes is taken for faster than two of 2N
constexpr int64_t kAligned = 64;                    // elements: inputs begin where the GPU reads whole lines

template <typename T>
std::span<const T> elements(const ConstBuffer& buffer) {
  return {static_cast<const T*>(buffer.data), static_cast<size_t>(buffer.count)};
}
template <typename T>
std::span<T> elements(const Buffer& buffer) {
  return {static_cast<T*>(buffer.data), static_cast<size_t>(buffer.count)};
}
std::span<const std::byte> bytes_of(const ConstBuffer& buffer) { return {buffer.begin(), buffer.bytes()}; }
std::span<std::byte> bytes_of(const Buffer& buffer) { return {buffer.begin(), buffer.bytes()}; }

// The spans below are device memory: cut here, never read.
struct Ranks {
  NcclGroup& group;
  NcclInbox& inbox;
  int P, r;

  void copy_unless_same(std::span<const std::byte> from, std::span<std::byte> to) const {
    if (!from.empty() && from.data() != to.data()) {
      group.copy(from.data(), to.data(), from.size());
    }
  }
  // Everybody's messages to everybody, those without bytes left out on both sides.
  template <typename To, typename From>
  void exchange(const To& to, const From& from) const {
    group.open();
    for (int step = 1; step < P; ++step) {
      const int dest = (r + step) % P, source = (r + P - step) % P;
      if (const std::span<const std::byte> out = to(dest); !out.empty()) {
        group.send(out.data(), out.size(), dest);
      }
      if (const std::span<std::byte> in = from(source); !in.empty()) {
        group.recv(in.data(), in.size(), source);
      }
    }
    group.close();
  }
};

// In elements of `size` bytes.
size_t longest_segment(size_t size, size_t ranks) {
  return std::max<size_t>(kInboxBytes / size / ranks / kAligned, 1) * kAligned;
}
size_t whole_boxes(size_t elements) { return (elements + kAligned - 1) / kAligned * kAligned; }

// algorithms/direct.h on the GPU: every rank sends piece(i) to rank i; out = reduction in order T of the P pieces addressed to this
// rank. `longest` is the size of the longest piece of all, known to every rank. `out` may be piece(r).
template <typename T, typename Piece>
void reduce_pieces(const Ranks& ranks, const Piece& piece, size_t longest, std::span<T> out, Reduction op) {
  const auto P = static_cast<size_t>(ranks.P);
  const size_t segment = std::min(longest, longest_segment(sizeof(T), P));
  const size_t stride = whole_boxes(std::min(segment, out.size()));
  T* const boxes = reinterpret_cast<T*>(ranks.inbox.at_least(stride * P * sizeof(T)));
  for (size_t begin = 0; begin < longest; begin += segment) {
    const auto part = [&](auto whole) {
      const size_t from = std::min(begin, whole.size());
      return whole.subspan(from, std::min(segment, whole.size() - from));
    };
    const std::span<T> result = part(out);
    ranks.exchange([&](int dest) { return std::as_bytes(part(piece(dest))); },
                   [&](int source) {
                     T* const box = boxes + static_cast<size_t>(source) * stride;
                     return std::as_writable_bytes(std::span<T>(box, result.size()));
                   });
    if (!result.empty()) {
      const NcclInputs inputs{boxes, static_cast<int64_t>(stride), part(piece(ranks.r)).data(), ranks.r, ranks.P};
      ranks.group.reduce_in_order(inputs, result.data(), static_cast<int64_t>(result.size()), dtype_of<T>, op);
    }
  }
}

template <typename T>
void all_reduce_in_order(const Ranks& ranks, std::span<const T> in, std::span<T> out, Reduction op) {
  if (in.size_bytes() <= kOneShotBytes) {
    std::byte* const boxes = ranks.inbox.at_least(in.size_bytes() * static_cast<size_t>(ranks.P));
    ranks.group.all_gather(in.data(), boxes, in.size_bytes());
    const auto n = static_cast<int64_t>(in.size());
    return ranks.group.reduce_in_order({boxes, n, in.data(), ranks.r, ranks.P}, out.data(), n, dtype_of<T>, op);
  }
  const Chunks<const T> pieces(in, ranks.P);
  const Chunks<T> sums(out, ranks.P);
  reduce_pieces(
      ranks, [&](int i) { return pieces[i]; }, pieces.max_size(), sums[ranks.r], op);
  if (in.size() % static_cast<size_t>(ranks.P) == 0) {
    return ranks.group.all_gather(sums[ranks.r].data(), out.data(), sums[ranks.r].size_bytes());
  }
  ranks.exchange([&](int) { return std::as_bytes(sums[ranks.r]); },
                 [&](int source) { return std::as_writable_bytes(sums[source]); });
}

template <typename T>
void reduce_in_order(const Ranks& ranks, const Call& call) {
  const std::span<const T> in = elements<T>(call.in);
  const std::span<T> out = elements<T>(call.out);
  switch (call.operation) {
    case Operation::AllReduce: return all_reduce_in_order(ranks, in, out, call.op);
    case Operation::Reduce:
      return reduce_pieces(
          ranks, [&](int i) { return i == call.peer ? in : std::span<const T>(); }, in.size(), out, call.op);
    case Operation::ReduceScatter: {
      const Chunks<const T> chunk(in, ranks.P);
      return reduce_pieces(
          ranks, [&](int i) { return chunk[i]; }, chunk.max_size(), out, call.op);
    }
    default: {
      const Parts<const T> part(in, call.counts);
      return reduce_pieces(
          ranks, [&](int i) { return part[i]; }, part.max_size(), out, call.op);
    }
  }
}

void reduce(const Ranks& ranks, const Call& call, ReductionOrder order) {
  const ConstBuffer& in = call.in;
  const Buffer& out = call.out;
  if (!nccl_adds(call.op, in.dtype, ranks.P, order) || call.operation == Operation::ReduceScatterV) {
    return dispatch_all(in.dtype, [&]<typename T>() { reduce_in_order<T>(ranks, call); });
  }
  switch (call.operation) {
    case Operation::AllReduce: return ranks.group.all_reduce(in.data, out.data, in.count, in.dtype, call.op);
    case Operation::Reduce: return ranks.group.reduce(in.data, out.data, in.count, in.dtype, call.op, call.peer);
    default: return ranks.group.reduce_scatter(in.data, out.data, out.count, in.dtype, call.op);
  }
}

// Calls body(part), where part[i] are the bytes of rank i in `whole`.
template <typename Byte, typename F>
void with_parts(const Call& call, std::span<Byte> whole, int P, F&& body) {
  if (has_counts(call.operation)) {
    return body(Parts<Byte>(whole, call.counts, size_of(call.in.dtype)));
  }
  body(Chunks<Byte>(whole, P));  // chunks of bytes are the shards, because the whole is P shards exactly
}

void all_gather(const Ranks& ranks, const Call& call) {
  if (call.operation == Operation::AllGather) {
    return ranks.group.all_gather(call.in.data, call.out.data, call.in.bytes());
  }
  with_parts(call, bytes_of(call.out), ranks.P, [&](const auto& part) {
    ranks.copy_unless_same(bytes_of(call.in), part[ranks.r]);
    ranks.exchange([&](int) { return bytes_of(call.in); }, [&](int source) { return part[source]; });
  });
}

void gather(const Ranks& ranks, const Call& call) {
  with_parts(call, bytes_of(call.out), ranks.P, [&](const auto& part) {
    const bool is_root = ranks.r == call.peer;
    if (is_root) {
      ranks.copy_unless_same(bytes_of(call.in), part[ranks.r]);
    }
    ranks.exchange([&](int dest) { return dest == call.peer ? bytes_of(call.in) : std::span<const std::byte>(); },
                   [&](int source) { return is_root ? part[source] : std::span<std::byte>(); });
  });
}

void scatter(const Ranks& ranks, const Call& call) {
  with_parts(call, bytes_of(call.in), ranks.P, [&](const auto& part) {
    const bool is_root = ranks.r == call.peer;
    if (is_root) {
      ranks.copy_unless_same(part[ranks.r], bytes_of(call.out));
    }
    ranks.exchange([&](int dest) { return is_root ? part[dest] : std::span<const std::byte>(); },
                   [&](int source) { return source == call.peer ? bytes_of(call.out) : std::span<std::byte>(); });
  });
}

void all_to_all(const Ranks& ranks, const Call& call) {
  std::span<const std::byte> in = bytes_of(call.in);
  const std::span<std::byte> out = bytes_of(call.out);
  const auto exchange = [&](const auto& to, const auto& from) {
    ranks.copy_unless_same(to[ranks.r], from[ranks.r]);
    ranks.exchange([&](int dest) { return to[dest]; }, [&](int source) { return from[source]; });
  };
  if (call.operation == Operation::AllToAllV) {
    const size_t unit = size_of(call.in.dtype);
    return exchange(Parts(in, call.counts, unit), Parts(out, call.source_counts, unit));
  }
  if (in.data() == out.data()) {  // what comes in must not overwrite what is still to go
    const std::span<std::byte> copy(ranks.inbox.at_least(in.size()), in.size());
    ranks.copy_unless_same(in, copy);
    in = copy;
  }
  exchange(Chunks(in, ranks.P), Chunks(out, ranks.P));
}

// The output is the input, times the factor of a scaled sum.
void run_alone(NcclGroup& group, const Call& call) {
  if (call.op.op == ReduceOp::PreMulSum && call.out.count > 0) {
    const NcclInputs own{nullptr, 0, call.in.data, 0, 1};
    return group.reduce_in_order(own, call.out.data, call.out.count, call.out.dtype, call.op);
  }
  if (call.out.count > 0 && call.in.data != call.out.data) {
    group.copy(call.in.data, call.out.data, call.in.bytes());
  }
}

}  // namespace

bool nccl_adds(Reduction op, DType dtype, int ranks, ReductionOrder order) {
  if (!is_floating(dtype)) {
    return true;
  }
  if (op.op == ReduceOp::Min || op.op == ReduceOp::Max) {
    return false;
  }
  return order == ReductionOrder::Any || (op.op == ReduceOp::Sum && ranks <= 2);
}

int64_t inbox_bytes(const Call& call, int ranks, ReductionOrder order) {
  const auto P = static_cast<size_t>(ranks), N = static_cast<size_t>(call.in.count), size = size_of(call.in.dtype);
  if (ranks == 1 || !is_reduction(call.operation) || nccl_adds(call.op, call.in.dtype, ranks, order)) {
    return 0;
  }
  if (call.operation == Operation::AllReduce && call.in.bytes() <= kOneShotBytes) {
    return static_cast<int64_t>(N * P * size);
  }
  const size_t longest = call.operation == Operation::Reduce ? N : (N + P - 1) / P;
  return static_cast<int64_t>(whole_boxes(std::min(longest, longest_segment(size, P))) * P * size);
}

void queue_collective(NcclGroup& group, NcclInbox& inbox, const Call& call, int rank, int size, ReductionOrder order) {
  const Ranks ranks{group, inbox, size, rank};
  if (size == 1) {
    return run_alone(group, call);
  }
  switch (call.operation) {
    case Operation::Broadcast: return group.broadcast(call.out.data, call.out.bytes(), call.peer);
    case Operation::Reduce:
    case Operation::AllReduce:
    case Operation::ReduceScatter:
    case Operation::ReduceScatterV: return reduce(ranks, call, order);
    case Operation::AllGather:
    case Operation::AllGatherV: return all_gather(ranks, call);
    case Operation::Gather:
    case Operation::GatherV: return gather(ranks, call);
    case Operation::Scatter:
    case Operation::ScatterV: return scatter(ranks, call);
    case Operation::AllToAll:
    case Operation::AllToAllV: return all_to_all(ranks, call);
    default: return;
  }
}

}  // namespace ringlet
