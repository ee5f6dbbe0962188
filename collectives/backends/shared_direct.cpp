#include "collectives/backends/shared_direct.h"

#include <algorithm>
#include <vector>

#include "collectives/chunks.h"
#include "collectives/reduce.h"

namespace ringlet {
namespace {

constexpr size_t kBlock =
    size_t{64} << 10;  // bytes that are reduced before they are written out: they stay in the second cache

// Where the buffers of all ranks are. What a rank does not have is null.
struct Places {
  std::vector<const std::byte*> in{};
  std::vector<std::byte*> out{};
};

// Who is to write where: rank r makes [begin, begin + n) of the whole, for one or for all.
template <Reducible T>
void reduce_part(SharedStaging& shared, const Places& places, const Call& call, size_t begin, size_t n,
                 const std::vector<T*>& targets) {
  const auto P = static_cast<size_t>(shared.size());
  shared.next();
  T* const block = shared.own_staging<T>();
  std::vector<const T*> inputs(P);
  constexpr size_t kElements = kBlock / sizeof(T);
  for (size_t done = 0; done < n; done += kElements) {
    const size_t count = std::min(kElements, n - done);
    for (size_t r = 0; r < P; ++r) {
      inputs[r] = reinterpret_cast<const T*>(places.in[r]) + begin + done;
    }
    reduce_in_order<T>(inputs, {block, count}, call.op);
    for (T* target : targets) {
      shared.take<T>(block, {target + done, count});
    }
  }
}

template <Reducible T>
void reduce_all(SharedStaging& shared, const Places& places, const Call& call) {
  const auto r = static_cast<size_t>(shared.rank());
  const auto count = static_cast<size_t>(call.in.count);
  if (call.operation == Operation::ReduceScatter) {
    const size_t n = count / static_cast<size_t>(shared.size());
    return reduce_part<T>(shared, places, call, r * n, n, {reinterpret_cast<T*>(places.out[r])});
  }
  const Chunks<const T> chunk({static_cast<const T*>(call.in.data), count}, shared.size());
  const std::span<const T> mine = chunk[shared.rank()];
  const auto begin = static_cast<size_t>(mine.data() - chunk[0].data());
  std::vector<T*> targets;
  for (std::byte* out : places.out) {
    if (out != nullptr) {
      targets.push_back(reinterpret_cast<T*>(out) + begin);
    }
  }
  reduce_part<T>(shared, places, call, begin, mine.size(), targets);
}

void move_all(SharedStaging& shared, const Places& places, const Call& call) {
  const int r = shared.rank();
  const auto take = [&](const std::byte* from, std::byte* to, size_t bytes) {
    if (from != to) {
      shared.take(from, std::span(to, bytes));
    }
  };
  if (call.operation == Operation::Broadcast) {
    return take(places.in[static_cast<size_t>(call.peer)], call.out.begin(), call.out.bytes());
  }
  const size_t shard = call.in.bytes();
  for (int k = 0; k < shared.size(); ++k) {
    const auto source = static_cast<size_t>((r + k) % shared.size());
    take(places.in[source], call.out.begin() + source * shard, shard);
  }
}

bool writes(const Call& call, int rank) { return call.operation != Operation::Reduce || rank == call.peer; }

}  // namespace

bool can_go_direct(const Call& call) {
  return call.operation == Operation::Broadcast || call.operation == Operation::AllGather ||
         call.operation == Operation::AllReduce || call.operation == Operation::Reduce ||
         call.operation == Operation::ReduceScatter;
}

bool go_direct(SharedStaging& shared, const Call& call) {
  const SharedArena& arena = shared.arena();
  const int r = shared.rank();
  arena.seat(r).in.store(arena.offset_of(r, call.in.data, call.in.bytes()), std::memory_order_relaxed);
  arena.seat(r).out.store(writes(call, r) ? arena.offset_of(r, call.out.data, call.out.bytes()) : SharedSeat::kNone,
                          std::memory_order_relaxed);
  shared.phases().meet();
  Places places;
  for (int q = 0; q < shared.size(); ++q) {
    const int64_t in = arena.seat(q).in.load(std::memory_order_relaxed),
                  out = arena.seat(q).out.load(std::memory_order_relaxed);
    if (in == SharedSeat::kElsewhere || out == SharedSeat::kElsewhere) {
      return false;
    }
    places.in.push_back(arena.heap(q) + in);
    places.out.push_back(out == SharedSeat::kNone ? nullptr : arena.heap(q) + out);
  }
  if (is_reduction(call.operation)) {
    dispatch_all(call.in.dtype, [&]<typename T>() { reduce_all<T>(shared, places, call); });
  } else {
    move_all(shared, places, call);
  }
  shared.phases().meet();
  return true;
}

}  // namespace ringlet
