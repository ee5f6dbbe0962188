// Buffers that all ranks of a host see: the same bits as from buffers of a rank's own, and memory that comes back.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "collectives/transports/shared_heap.h"
#include "collectives/transports/shared_staging.h"
#include "test/support/catch.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

// n elements from the world's arena, or where `shared` is false from the heap.
class Elements {
 public:
  Elements(Communicator& world, size_t n, bool shared)
      : source_(shared ? world.arena() : system_arena()), data_(static_cast<float*>(source_->acquire(n * sizeof(float))), n) {}
  ~Elements() { source_->release(data_.data(), data_.size_bytes()); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  std::span<float> all() const { return data_; }
  std::span<float> part(int r, size_t n) const { return data_.subspan(static_cast<size_t>(r) * n, n); }
  void fill(int rank) const {
    for (size_t i = 0; i < data_.size(); ++i) {
      data_[i] = 1.0F / static_cast<float>(i + 3 + static_cast<size_t>(rank) * 7);  // sums that depend on their order
    }
  }
  bool same_bits(const Elements& other) const { return std::memcmp(data_.data(), other.data_.data(), data_.size_bytes()) == 0; }

 private:
  std::shared_ptr<Arena> source_;
  std::span<float> data_;
};

// Every operation that goes direct; `out` holds all results, one after the other.
void run_all(Communicator& world, const Elements& in, const Elements& out, size_t n) {
  const auto P = static_cast<size_t>(world.size());
  const int r = world.rank();
  size_t next = 0;
  const auto room = [&](size_t count) { return out.all().subspan(std::exchange(next, next + count), count); };
  world.all_reduce(in.all(), room(n * P), ReduceOp::Sum);
  const std::span<float> in_place = room(n * P);
  std::copy(in.all().begin(), in.all().end(), in_place.begin());
  world.all_reduce(in_place, ReduceOp::Avg);
  world.reduce_scatter(in.all(), room(n), ReduceOp::Sum);
  world.all_gather(in.part(r, n), room(n * P));
  const std::span<float> reduced = room(n * P);
  world.reduce(in.all(), reduced, ReduceOp::Max, world.size() - 1);
  const std::span<float> sent = room(n);
  std::copy_n(in.part(r, n).begin(), n, sent.begin());
  world.broadcast(sent, 0);
  const std::span<float> scattered = room(n * P);
  std::copy(in.all().begin(), in.all().end(), scattered.begin());
  world.reduce_scatter(scattered, scattered.subspan(static_cast<size_t>(r) * n, n), pre_mul_sum(0.5F));
  for (size_t q = 0; q < P; ++q) {  // the other pieces are unspecified
    std::fill_n(scattered.begin() + static_cast<int64_t>(q * n), q == static_cast<size_t>(r) ? 0 : n, 0.0F);
  }
  const std::span<float> gathered = room(n * P);
  std::copy_n(in.part(r, n).begin(), n, gathered.begin() + static_cast<int64_t>(static_cast<size_t>(r) * n));
  world.all_gather(gathered.subspan(static_cast<size_t>(r) * n, n), gathered);
}

// A reduce and a broadcast, in which who only gives is ahead of who takes, and an all_reduce: the number of wrong elements.
int64_t wrong_of(Communicator& world, int call) {
  const int P = world.size(), r = world.rank(), root = call % P;
  const size_t n = static_cast<size_t>(call * 7919 % 1000 + 1) * static_cast<size_t>(call % 30 == 0 ? 2000 : 20);
  std::vector<int32_t> mine(n), sum(n), at_root(n), last(n, -1);
  std::iota(mine.begin(), mine.end(), r + call);
  if (r == root) {
    last = mine;
  }
  world.all_reduce(mine, sum, ReduceOp::Sum);
  world.reduce(mine, at_root, ReduceOp::Sum, root);
  world.broadcast(last, root);
  int64_t wrong = 0;
  for (size_t i = 0; i < n; ++i) {
    const int first = call + static_cast<int>(i), right = P * first + P * (P - 1) / 2;
    wrong += sum[i] == right && (r != root || at_root[i] == right) && last[i] == first + root ? 0 : 1;
  }
  return wrong;
}

}  // namespace

TEST_CASE("buffers in the arena give the same bits as buffers outside, and mixed", "[arena]") {
  for (const int ranks : {2, 3, 4}) {
    for (const size_t n : {size_t{5000}, size_t{20011}}) {  // 20 KB and 80 KB a shard
      std::atomic<int> right = 0, moved_less = 0;
      run_shared(ranks, [&](Communicator& world) {
        const size_t whole = n * static_cast<size_t>(ranks), results = 6 * whole + 2 * n;
        const auto run_into = [&](const Elements& out, bool in_shared) {
          const Elements in(world, whole, in_shared);
          in.fill(world.rank());
          std::fill(out.all().begin(), out.all().end(), 0.0F);
          const int64_t before = world.moved()->bytes;
          run_all(world, in, out, n);
          return world.moved()->bytes - before;
        };
        const Elements expected(world, results, false), direct(world, results, true), mixed(world, results, true);
        const int64_t copied = run_into(expected, false);
        const int64_t direct_copied = run_into(direct, true);
        run_into(mixed, world.rank() != 1);
        right += expected.same_bits(direct) && expected.same_bits(mixed) ? 1 : 0;
        moved_less += direct_copied < copied ? 1 : 0;
      });
      INFO(ranks << " ranks, shards of " << n);
      CHECK(right == ranks);
      CHECK(moved_less == ranks);
    }
  }
}

TEST_CASE("no turn of the staging is written over before it has been read, whatever came before", "[arena]") {
  for (const int ranks : {2, 3, 4}) {
    for (const int cores : {1, ranks}) {
      std::atomic<int64_t> wrong = 0;
      const auto body = [&](const std::unique_ptr<Communicator>& world) {
        for (int call = 0; call < 300; ++call) {
          wrong += wrong_of(*world, call);
        }
      };
      run_shared(ranks, body, std::chrono::seconds(20), {}, cores);
      INFO(ranks << " ranks, " << cores << " cores");
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("a turn of the ring leaves alone what others may still read: three turns, or one where cores are shared", "[arena]") {
  for (const int cores : {1, 2}) {
    const SharedArena arena = plain_arena(2, 0, cores);
    SharedStaging staging(arena, 0, 2, std::chrono::seconds(1));
    std::vector<std::pair<size_t, size_t>> turns;  // begin and end, the last one at the back
    int written_over = 0, outside = 0;
    uint32_t random = 1;
    for (int k = 0; k < 20000; ++k) {
      random = random * 1664525 + 1013904223;
      const size_t any = (random >> 8) % staging.segment() + 1;
      const size_t bytes = random % 3 == 0 ? staging.segment() : random % 3 == 1 ? any : any % 4096 + 1;
      const size_t begin = staging.next(bytes), end = begin + bytes;
      outside += end <= arena.ring() && begin % SharedStaging::kLine == 0 ? 0 : 1;
      for (const auto& [first, last] : turns) {
        written_over += begin < last && first < end ? 1 : 0;
      }
      turns.emplace_back(begin, end);
      if (turns.size() > (staging.goes_round() ? 3 : 1)) {
        turns.erase(turns.begin());
      }
    }
    INFO(cores << " cores");
    CHECK(staging.goes_round() == (cores == 2));
    CHECK(written_over == 0);
    CHECK(outside == 0);
  }
}

TEST_CASE("the ring of a part goes to and fro, also with a core for each", "[arena]") {
  const SharedArena world = plain_arena(2, 0, 2), part = world.part(world.room(0), 2);
  part.prepare();
  SharedStaging staging(part, 0, 2, std::chrono::seconds(1));
  CHECK(part.core_for_each());
  CHECK(!staging.goes_round());
  CHECK(staging.segment() == SharedArena::kPartRing / 2);
}

TEST_CASE("a segment has a line for every rank, however many there are", "[arena]") {
  for (int ranks = 2; ranks <= 2000; ++ranks) {
    for (const int cores : {1, ranks}) {
      const size_t ring = SharedArena::world_ring(ranks, cores), segment = ring / (cores < ranks ? 2 : 8);
      if (segment < SharedStaging::kLine * static_cast<size_t>(ranks) || segment % SharedStaging::kLine != 0) {
        FAIL(ranks << " ranks, " << cores << " cores: a ring of " << ring);
      }
    }
  }
}

TEST_CASE("a heap in an arena gives out what there is, and takes it back", "[arena]") {
  std::vector<std::byte> memory(1024);
  SharedHeap heap(memory.data(), memory.size(), nullptr);
  void* first = heap.acquire(100);  // 128 with its alignment
  void* second = heap.acquire(512);
  CHECK(static_cast<std::byte*>(second) == memory.data() + 128);
  CHECK_THROWS_WITH(heap.acquire(385), "shared arena: no room for 385 bytes in 1024; make the world with more arena_bytes");
  void* third = heap.acquire(384);
  heap.release(first, 100);
  heap.release(third, 384);
  CHECK_THROWS_AS(heap.acquire(500), Error);  // two gaps, neither large enough
  void* nothing = heap.acquire(0);            // is somewhere, too
  CHECK(heap.acquire(64) != nothing);
  heap.release(static_cast<std::byte*>(nothing) + 64, 64);
  heap.release(nothing, 0);
  heap.release(second, 512);
  CHECK(heap.acquire(1024) == memory.data());
}
