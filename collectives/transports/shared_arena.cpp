#include "collectives/transports/shared_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "collectives/transports/process.h"

namespace ringlet {
namespace {

constexpr size_t kShortRing = size_t{1} << 20, kLongRing = size_t{2} << 20;  // docs/shared_memory.md, "Who wrote it last"
constexpr size_t kLargestRoom = size_t{2} << 20;                             // two parts of 8 ranks, or five of 2
constexpr size_t kAllRooms = size_t{24} << 20;      // together at most: a container has 64 MB of shared memory by default
constexpr size_t kStagingBytes = size_t{32} << 20;  // of all ranks, at most, where kLeastForEach is not more
constexpr size_t kLeastForEach = size_t{8} * 64;    // a line for every rank in the shortest segment, an eighth of a ring

size_t whole_pages(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

size_t head_bytes(int ranks) { return whole_pages(sizeof(SharedHead) + sizeof(SharedSeat) * static_cast<size_t>(ranks)); }

}  // namespace

namespace {

template <typename T>
void store(const T& value, std::array<std::atomic<uint64_t>, sizeof(T) / 8>& words) {
  const auto plain = std::bit_cast<std::array<uint64_t, sizeof(T) / 8>>(value);
  for (size_t i = 0; i < plain.size(); ++i) {
    words[i].store(plain[i], std::memory_order_relaxed);
  }
}

template <typename T>
T load(const std::array<std::atomic<uint64_t>, sizeof(T) / 8>& words) {
  std::array<uint64_t, sizeof(T) / 8> plain{};
  for (size_t i = 0; i < plain.size(); ++i) {
    plain[i] = words[i].load(std::memory_order_relaxed);
  }
  return std::bit_cast<T>(plain);
}

}  // namespace

// Sequentially consistent: one who leaves and one who calls must not both miss the other.
void SharedSeat::stand(const Standing& standing) {
  store(standing.call, call);
  store(standing.site, site);
  state.store(static_cast<uint32_t>(standing.state));
}

Standing SharedSeat::standing() const {
  const auto now = static_cast<Standing::State>(state.load());
  return {now, load<Fingerprint>(call), load<SiteText>(site)};
}

bool SharedSeat::makes(const Fingerprint& one) const { return load<Fingerprint>(call) == one; }

// Relaxed: it is a hint of where to wait, and comes before the count that opens the phase.
void SharedSeat::arrive(uint32_t phase, int core) {
  arrival.store(uint64_t{phase} << 32 | static_cast<uint32_t>(core), std::memory_order_relaxed);
}

bool SharedSeat::late(uint32_t phase) const {
  return static_cast<int32_t>(static_cast<uint32_t>(arrival.load(std::memory_order_relaxed) >> 32) - phase) < 0;
}

bool SharedSeat::late_on(int core, uint32_t phase) const {
  return static_cast<uint32_t>(arrival.load(std::memory_order_relaxed)) == static_cast<uint32_t>(core) && late(phase);
}

bool SharedSeat::dead() const {
  const int before = process.load();
  return is_dead(before) && process.load() == before;
}

SharedArena::SharedArena(std::shared_ptr<std::byte> memory, int ranks, std::function<bool()> mapped, size_t heap, int cores)
    : memory_(std::move(memory)),
      ranks_(ranks),
      crowd_(ranks),
      cores_(cores),
      mapped_(std::move(mapped)),
      ring_(world_ring(ranks, cores)),
      heap_(whole_pages(heap)) {}

SharedArena SharedArena::part(std::byte* begin, int ranks) const {
  SharedArena part(std::shared_ptr<std::byte>(memory_, begin), ranks, mapped_, 0, cores_);
  part.ring_ = kPartRing;
  part.crowd_ = crowd_;
  return part;
}

size_t SharedArena::world_ring(int ranks, int cores) {
  constexpr size_t kPages = 8192;  // two
  const auto whole = [](size_t bytes) { return (bytes + kPages - 1) / kPages * kPages; };
  const size_t wanted = ranks <= cores ? kLongRing : kShortRing, affordable = kStagingBytes / static_cast<size_t>(ranks + 1);
  const size_t least = std::max(kPartRing, whole(kLeastForEach * static_cast<size_t>(ranks)));
  return std::max(std::min(wanted, affordable / kPages * kPages), least);
}

size_t SharedArena::room_bytes(int ranks) {
  return std::min(kLargestRoom, whole_pages(kAllRooms / static_cast<size_t>(ranks)));
}

size_t SharedArena::bytes(int ranks, size_t ring) { return head_bytes(ranks) + static_cast<size_t>(ranks + 1) * ring; }

size_t SharedArena::world_bytes(int ranks, size_t heap, int cores) {
  return bytes(ranks, world_ring(ranks, cores)) + static_cast<size_t>(ranks) * (room_bytes(ranks) + whole_pages(heap));
}

size_t SharedArena::share(int rank) const { return room_bytes(ranks_) + ring_ + (rank > 0 ? 0 : head_bytes(ranks_) + ring_); }

std::byte* SharedArena::room(int rank) const {
  return memory_.get() + bytes(ranks_, ring_) + static_cast<size_t>(rank) * room_bytes(ranks_);
}

std::byte* SharedArena::heap(int rank) const { return room(ranks_) + static_cast<size_t>(rank) * heap_; }

int64_t SharedArena::offset_of(int rank, const void* data, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(data), first = reinterpret_cast<uintptr_t>(heap(rank));
  return begin >= first && begin + bytes <= first + heap_ ? static_cast<int64_t>(begin - first) : SharedSeat::kElsewhere;
}

void SharedArena::prepare() const {
  new (memory_.get()) SharedHead;
  for (int r = 0; r < ranks_; ++r) {
    new (&seat(r)) SharedSeat;
  }
}

void SharedArena::map_staging() const {
#if defined(MADV_POPULATE_READ)  // Linux 5.14; a kernel that does not know it only maps them later
  std::byte* const first = staging(0);
  const size_t before = reinterpret_cast<uintptr_t>(first) % 4096;
  madvise(first - before, static_cast<size_t>(ranks_ + 1) * ring_ + before, MADV_POPULATE_READ);
#endif
}

std::byte* SharedArena::staging(int rank) const {
  return memory_.get() + head_bytes(ranks_) + static_cast<size_t>(rank) * ring_;
}

}  // namespace ringlet
