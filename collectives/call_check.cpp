// The caller's mistakes, found before anything moves.
#include <cmath>
#include <functional>
#include <numeric>

#include "collectives/call.h"
#include "collectives/error.h"
#include "tensor/base/check.h"

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

// Apart unless they are exactly `in_place`.
void check_overlap(const Call& call, bool in_place) {
  const ConstBuffer& in = call.in;
  const Buffer& out = call.out;
  if (in.count == 0 || out.count == 0) {
    return;
  }
  const std::less<> before;
  const bool apart = !before(in.begin(), out.begin() + out.bytes()) || !before(out.begin(), in.begin() + in.bytes());
  check(apart || in_place, "{}: input and output overlap without being in place, got output {} bytes after input",
        name_of_verb(call), static_cast<int64_t>(out.begin() - in.begin()));
}

// Both buffers present: same dtype, same device.
void check_pair(const Call& call, bool in_place) {
  check(call.in.dtype == call.out.dtype, "{}: input and output differ in dtype, got {} and {}", name_of_verb(call),
        call.in.dtype, call.out.dtype);
  check(call.in.device == call.out.device, "{}: input and output are on different devices, got {} and {}", name_of_verb(call),
        call.in.device, call.out.device);
  check_overlap(call, in_place);
}

void check_reducible(const Call& call) {
  check(call.op.op <= ReduceOp::PreMulSum, "{}: there is no reduce op of number {}", name_of_verb(call),
        static_cast<int>(call.op.op));
  check(supports(call.op.op, call.in.dtype), "{}: no {} of integers, got {}; use sum and {}", name_of_verb(call), call.op.op,
        call.in.dtype, call.op.op == ReduceOp::Avg ? "divide" : "multiply");
  check(std::isfinite(call.op.factor), "{}: the factor must be finite, got {}", name_of_verb(call), call.op.factor);
}

void check_root(const Call& call, int size) {
  check(call.peer >= 0 && call.peer < size, "{}: root must be a rank of 0 … {}, got {}", name_of_verb(call), size - 1,
        call.peer);
}

void check_peer(const Call& call, int peer, int rank, int size) {
  check(peer >= 0 && peer < size && peer != rank, "{}: the peer of rank {} must be another rank of 0 … {}, got {}",
        name_of_verb(call), rank, size - 1, peer);
}

void check_message(const Call& call, int rank, int size) {
  check_peer(call, call.peer, rank, size);
  if (call.operation == Operation::Exchange) {
    check_peer(call, call.source, rank, size);
    check_overlap(call, false);
  }
  check(call.tag >= 0 && call.tag <= kLargestTag, "{}: tag must be in 0 … {}, got {}", name_of_verb(call), kLargestTag,
        call.tag);
}

// `whole` holds `ranks` times `shard`.
void check_shards(const Call& call, int64_t whole, int64_t shard, int ranks) {
  check(whole % ranks == 0 && whole / ranks == shard, "{}: the whole must hold {} shards, got {} elements and shards of {}",
        name_of_verb(call), ranks, whole, shard);
}

constexpr int64_t kUnknown = INT64_MAX;

// One count per rank; together they are `whole`, where this rank knows it.
void check_counts(const Call& call, std::span<const int64_t> counts, int64_t whole, int size) {
  check(counts.size() == static_cast<size_t>(size), "{}: needs one count for each of the {} ranks, got {}", name_of_verb(call),
        size, counts.size());
  int64_t room = whole;
  for (const int64_t count : counts) {
    check(count >= 0, "{}: a count is negative, got {}", name_of_verb(call), count);
    check(count <= room, "{}: the counts must add up to the whole, got more than its {} elements", name_of_verb(call), whole);
    room -= count;
  }
  check(room == 0 || whole == kUnknown, "{}: the counts must add up to the whole, got {} of {} elements", name_of_verb(call),
        whole - room, whole);
}

// `whole` is where this rank sees all parts, or null; `part` is its own.
void check_parts(const Call& call, const ConstBuffer* whole, const ConstBuffer& part, int rank, int size) {
  if (!has_counts(call.operation)) {
    if (whole != nullptr) {
      check_shards(call, whole->count, part.count, size);
      check_pair(call, part.begin() == whole->slice(rank * part.count, part.count).begin());
    }
    return;
  }
  check_counts(call, call.counts, whole != nullptr ? whole->count : kUnknown, size);
  const auto r = static_cast<size_t>(rank);
  check(part.count == call.counts[r], "{}: the part of rank {} must hold its count of {} elements, got {}", name_of_verb(call),
        rank, call.counts[r], part.count);
  if (whole != nullptr) {
    const int64_t begin = std::accumulate(call.counts.begin(), call.counts.begin() + rank, int64_t{0});
    check_pair(call, part.begin() == whole->slice(begin, part.count).begin());
  }
}

void check_all_to_all(const Call& call, int rank, int size) {
  if (call.operation == Operation::AllToAll) {
    check(call.in.count == call.out.count && call.in.count % size == 0,
          "all_to_all: input and output must hold {} equal parts, got {} and {} elements", size, call.in.count, call.out.count);
    return check_pair(call, call.in.begin() == call.out.begin());
  }
  check_counts(call, call.counts, call.in.count, size);
  check_counts(call, call.source_counts, call.out.count, size);
  const auto own = static_cast<size_t>(rank);
  check(call.counts[own] == call.source_counts[own],
        "all_to_all_v: what this rank sends itself must be what it expects of itself, got {} and {} elements", call.counts[own],
        call.source_counts[own]);
  check_pair(call, false);
}

}  // namespace

void check_call(const Call& call, int rank, int size) {
  check_buffer(call, "input", call.in.data, call.in.count, call.in.dtype);
  check_buffer(call, "output", call.out.data, call.out.count, call.out.dtype);
  if (is_rooted(call.operation)) {
    check_root(call, size);
  }
  if (is_reduction(call.operation)) {
    check_reducible(call);
  }
  const bool is_root = rank == call.peer;
  const ConstBuffer in = call.in, out = call.out;
  switch (call.operation) {
    case Operation::Reduce:
      if (is_root) {
        check_shards(call, call.out.count, call.in.count, 1);
        check_pair(call, call.in.begin() == call.out.begin());
      }
      return;
    case Operation::AllReduce:
      check(call.in.count == call.out.count, "all_reduce: input and output differ in count, got {} and {}", call.in.count,
            call.out.count);
      return check_pair(call, call.in.begin() == call.out.begin());
    case Operation::AllGather:
    case Operation::AllGatherV: return check_parts(call, &out, in, rank, size);
    case Operation::ReduceScatter:
    case Operation::ReduceScatterV: return check_parts(call, &in, out, rank, size);
    case Operation::Gather:
    case Operation::GatherV: return check_parts(call, is_root ? &out : nullptr, in, rank, size);
    case Operation::Scatter:
    case Operation::ScatterV: return check_parts(call, is_root ? &in : nullptr, out, rank, size);
    case Operation::AllToAll:
    case Operation::AllToAllV: return check_all_to_all(call, rank, size);
    case Operation::Send:
    case Operation::Recv:
    case Operation::Exchange: return check_message(call, rank, size);
    case Operation::Broadcast:
    case Operation::Barrier:
    case Operation::Split:
    case Operation::Leave: return;
  }
}

void require_matching_parts(std::span<const int64_t> table, int rank, int size) {
  const auto P = static_cast<size_t>(size);
  for (size_t from = 0; from < P; ++from) {
    for (size_t to = 0; to < P; ++to) {
      const int64_t sent = table[from * 2 * P + to], expected = table[to * 2 * P + P + from];
      if (sent != expected) {
        throw CommError(
            {.rank = rank, .size = size, .peer = static_cast<int>(from)},
            message("a part must have the size that its receiver expects, got {} elements from rank {} where rank {} "
                    "expects {}",
                    sent, from, to, expected));
      }
    }
  }
}

void check_host_memory(const Call& call, std::string_view backend) {
  for (const Device device : {call.in.device, call.out.device}) {
    check(device.kind == Device::Kind::Cpu, "{}: backend '{}' moves host memory, got {}", name_of_verb(call), backend, device);
  }
}

}  // namespace ringlet
