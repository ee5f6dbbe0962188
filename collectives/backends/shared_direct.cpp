#include "collectives/backends/shared_direct.h"

#include <algorithm>
#include <vector>

#include "collectives/backends/shared_movement.h"
#include "collectives/backends/shared_places.h"
#include "collectives/chunks.h"
#include "collectives/reduce.h"

namespace ringlet {
namespace {

// What is read of the others at a time: it has to stay in the second cache until it is reduced, but the kernel copies little slowly.
constexpr size_t kWork = size_t{1} << 20, kLeastCopy = size_t{64} << 10;

using Places = std::vector<SharedPlaces::Place>;

bool all_in_arena(const Places& places) {
  return std::all_of(places.begin(), places.end(), [](const auto& one) { return one.in_arena(); });
}
bool all_reached(const Places& places) {
  return std::all_of(places.begin(), places.end(), [](const auto& one) { return one.reached; });
}

template <Reducible T>
class DirectReduction {
 public:
  DirectReduction(SharedStaging& shared, const SharedPlaces& places, const Call& call)
      : shared_(shared), places_(places), call_(call), P_(shared.size()), r_(shared.rank()), inputs_(static_cast<size_t>(P_)) {}

  void run() {
    if (call_.operation == Operation::ReduceScatter) {
      const auto n = static_cast<size_t>(call_.out.count);
      return reduce(static_cast<size_t>(r_) * n, {static_cast<T*>(call_.out.data), n});
    }
    const bool in_caches = SharedStaging::stays_in_caches(call_.in.bytes() * static_cast<size_t>(P_));
    const bool fetches = call_.operation == Operation::AllReduce && in_caches && shared_.arena().core_for_each();
    fetches || !all_in_arena(places_.inputs()) || !all_in_arena(places_.outputs()) ? fetch() : push();
  }

 private:
  T* output(int r) const { return reinterpret_cast<T*>(places_.outputs()[static_cast<size_t>(r)].here); }
  Chunks<const T> chunks() const {
    return Chunks<const T>({static_cast<const T*>(call_.in.data), static_cast<size_t>(call_.in.count)}, P_);
  }
  size_t begin_of(const Chunks<const T>& chunk, int r) const { return static_cast<size_t>(chunk[r].data() - chunk[0].data()); }

  // n elements of the input of rank r from `begin` on: where they are, or copied to `room`.
  const T* input(int r, size_t begin, std::span<T> room) const {
    if (r == r_) {
      return static_cast<const T*>(call_.in.data) + begin;
    }
    if (const std::byte* const here = places_.inputs()[static_cast<size_t>(r)].here; here != nullptr) {
      return reinterpret_cast<const T*>(here) + begin;
    }
    places_.take_input(r, begin * sizeof(T), std::as_writable_bytes(room));
    return room.data();
  }

  // out = what all ranks have from element `begin` on.
  void reduce(size_t begin, std::span<T> out) {
    const std::span<std::byte> ring = shared_.own_ring();
    const size_t rooms = static_cast<size_t>(P_);
    const size_t longest = std::min(std::max(kWork / rooms, kLeastCopy), ring.size() / rooms) / sizeof(T);
    for (size_t done = 0; done < out.size(); done += longest) {
      const size_t n = std::min(longest, out.size() - done);
      for (int r = 0; r < P_; ++r) {
        auto* const room = reinterpret_cast<T*>(ring.data()) + static_cast<size_t>(r) * longest;
        inputs_[static_cast<size_t>(r)] = input(r, begin + done, {room, n});
      }
      reduce_in_order<T>(inputs_, out.subspan(done, n), call_.op);
    }
  }

  // Every rank writes its own output only: first the chunk that it reduces, then those that it reads from the outputs of the others.
  // Nobody else reads the former of its input; so the output may be the input.
  void fetch() {
    const Chunks<const T> chunk = chunks();
    const auto in_output = [&](int r) {
      return std::span<T>(static_cast<T*>(call_.out.data) + begin_of(chunk, r), chunk[r].size());
    };
    reduce(begin_of(chunk, r_), in_output(r_));
    shared_.phases().meet();
    for (int k = 1; k < P_; ++k) {
      const int r = (r_ + k) % P_;
      places_.take_output(r, begin_of(chunk, r) * sizeof(T), std::as_writable_bytes(in_output(r)));
    }
  }

  // Every rank writes its chunk into all outputs.
  void push() {
    const Chunks<const T> chunk = chunks();
    const size_t begin = begin_of(chunk, r_), n = chunk[r_].size();
    constexpr size_t kElements = kLeastCopy / sizeof(T);
    T* const block = reinterpret_cast<T*>(shared_.own_ring().data());
    for (size_t done = 0; done < n; done += kElements) {
      const std::span<T> reduced(block, std::min(kElements, n - done));
      reduce(begin + done, reduced);
      for (int r = 0; r < P_; ++r) {
        if (output(r) != nullptr) {
          shared_.take<T>(block, {output(r) + begin + done, reduced.size()});
        }
      }
    }
  }

  SharedStaging& shared_;
  const SharedPlaces& places_;
  const Call& call_;
  int P_, r_;
  std::vector<const T*> inputs_;
};

bool all_can(const SharedPlaces& places, const Call& call) {
  const Places& in = places.inputs();
  if (!is_reduction(call.operation)) {
    return from_root(call.operation) ? in[static_cast<size_t>(call.peer)].reached : all_reached(in);
  }
  switch (call.operation) {
    case Operation::AllReduce: return all_reached(in) && all_reached(places.outputs());
    case Operation::ReduceScatter: return all_reached(in);
    default: return all_in_arena(in) && all_in_arena(places.outputs());
  }
}

}  // namespace

bool can_go_direct(const Call& call) {
  return call.operation != Operation::ReduceScatterV && call.operation != Operation::AllToAllV;
}

bool go_direct(SharedStaging& shared, const Call& call, bool lends) {
  const SharedPlaces places(shared, call, lends);
  if (!all_can(places, call)) {
    return false;
  }
  if (is_reduction(call.operation)) {
    dispatch_all(call.in.dtype, [&]<typename T>() { DirectReduction<T>(shared, places, call).run(); });
    shared.phases().meet_after_reading(0);
  } else {
    move_from(places, shared, call);
    shared.phases().meet_after_reading(call.out.bytes());
  }
  return true;
}

}  // namespace ringlet
