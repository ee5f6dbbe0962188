#include "collectives/backends/shared_direct.h"

#include <algorithm>
#include <vector>

#include "collectives/backends/shared_movement.h"
#include "collectives/backends/shared_places.h"
#include "collectives/chunks.h"
#include "collectives/reduce.h"

namespace ringlet {
namespace {

constexpr size_t kBlock =
    size_t{64} << 10;  // bytes that are reduced before they are written out: they stay in the second cache

// Who is to write where: rank r makes [begin, begin + n) of the whole, for one or for all.
template <Reducible T>
void reduce_part(SharedStaging& shared, const SharedPlaces& places, const Call& call, size_t begin, size_t n,
                 const std::vector<T*>& targets) {
  const auto P = static_cast<size_t>(shared.size());
  shared.next();
  T* const block = shared.own_staging<T>();
  std::vector<const T*> inputs(P);
  constexpr size_t kElements = kBlock / sizeof(T);
  for (size_t done = 0; done < n; done += kElements) {
    const size_t count = std::min(kElements, n - done);
    for (size_t r = 0; r < P; ++r) {
      inputs[r] = reinterpret_cast<const T*>(places.input(static_cast<int>(r))) + begin + done;
    }
    reduce_in_order<T>(inputs, {block, count}, call.op);
    for (T* target : targets) {
      shared.take<T>(block, {target + done, count});
    }
  }
}

template <Reducible T>
void reduce_all(SharedStaging& shared, const SharedPlaces& places, const Call& call) {
  const auto r = static_cast<size_t>(shared.rank());
  const auto count = static_cast<size_t>(call.in.count);
  if (call.operation == Operation::ReduceScatter) {
    const size_t n = count / static_cast<size_t>(shared.size());
    return reduce_part<T>(shared, places, call, r * n, n, {reinterpret_cast<T*>(places.outputs()[r])});
  }
  const Chunks<const T> chunk({static_cast<const T*>(call.in.data), count}, shared.size());
  const std::span<const T> mine = chunk[shared.rank()];
  const auto begin = static_cast<size_t>(mine.data() - chunk[0].data());
  std::vector<T*> targets;
  for (std::byte* out : places.outputs()) {
    if (out != nullptr) {
      targets.push_back(reinterpret_cast<T*>(out) + begin);
    }
  }
  reduce_part<T>(shared, places, call, begin, mine.size(), targets);
}

}  // namespace

bool can_go_direct(const Call& call) {
  return call.operation != Operation::ReduceScatterV && call.operation != Operation::AllToAllV;
}

bool go_direct(SharedStaging& shared, const Call& call, bool lends) {
  const bool moves = !is_reduction(call.operation);
  const SharedPlaces places(shared, call, lends && moves);
  if (moves ? !places.all_reached(from_root(call.operation) ? call.peer : -1) : !places.all_here()) {
    return false;
  }
  if (moves) {
    return shared.phases().meet_after_reading(move_from(places, shared, call), call.out.bytes());
  }
  dispatch_all(call.in.dtype, [&]<typename T>() { reduce_all<T>(shared, places, call); });
  return shared.phases().meet_after_reading(true, 0);
}

}  // namespace ringlet
