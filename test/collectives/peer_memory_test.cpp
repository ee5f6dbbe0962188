// Reading from another rank's memory: what comes, what is counted, and what happens when it cannot be read.
#include "collectives/transports/peer_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <fstream>
#include <numeric>

#include "collectives/transports/shared_phases.h"
#include "test/support/catch.h"
#include "test/support/fork_ranks.h"
#include "test/support/run_shared.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr auto kDeadline = std::chrono::seconds(20);

std::vector<int32_t> numbers(int from, size_t n) {
  std::vector<int32_t> all(n);
  std::iota(all.begin(), all.end(), from * 1000003);
  return all;
}

SharedArena arena_of(int ranks) {
  SharedArena arena(memory_for_children(SharedArena::world_bytes(ranks)), ranks, [] { return true; });
  arena.prepare();
  return arena;
}

// The first address of a mapping that the process may read and the kernel hands to nobody: its clocks. Null where there is none.
const std::byte* clocks() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("[vvar]") != std::string::npos) {
      return reinterpret_cast<const std::byte*>(std::stoull(line, nullptr, 16));
    }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("processes read each other's buffers once, where they are", "[peer_memory]") {
  constexpr size_t kPart = 50021;
  for (const int ranks : {2, 3, 4}) {
    INFO(ranks << " ranks");
    const auto told = fork_ranks(
        ranks,
        [](Communicator& world) -> std::string {
          const int P = world.size(), r = world.rank(), root = P - 1;
          const auto bytes_of = [&](auto&& body) {
            const int64_t before = world.moved()->bytes;
            body();
            return (world.moved()->bytes - before) / static_cast<int64_t>(kPart * sizeof(int32_t));
          };
          std::vector<int32_t> data = numbers(r, kPart), full(kPart * static_cast<size_t>(P));
          const int64_t gathered = bytes_of([&] { world.all_gather(data, full); });
          for (int q = 0; q < P; ++q) {
            const auto part = full.begin() + static_cast<int64_t>(kPart) * q;
            check(std::equal(part, part + static_cast<int64_t>(kPart), numbers(q, kPart).begin()), "all_gather: part {}", q);
          }
          const int64_t sent = bytes_of([&] { world.broadcast(data, root); });
          check(data == numbers(root, kPart), "broadcast: other numbers");
          std::vector<int32_t> mail(full.size());
          const int64_t mailed = bytes_of([&] { world.all_to_all(full, mail); });
          const int64_t in_place = bytes_of([&] { world.all_to_all(full, full); });
          check(full == mail, "all_to_all: other numbers in place");
          std::vector<int32_t> sum(full.size());
          const int64_t reduced = bytes_of([&] { world.all_reduce(mail, sum, ReduceOp::Sum); });
          const int64_t reduced_in_place = bytes_of([&] { world.all_reduce(mail, mail, ReduceOp::Sum); });
          check(sum == mail, "all_reduce: other numbers in place");
          check(reduced == 2 * (P - 1) && reduced_in_place == reduced, "all_reduce: copied {} parts, in place {}", reduced,
                reduced_in_place);
          check(mailed == P && in_place == 2 * (P - 1), "all_to_all: copied {} parts, in place {}", mailed, in_place);
          check(gathered == P, "all_gather: copied {} parts", gathered);
          check(sent == (r == root ? 0 : 1), "broadcast: copied {} parts", sent);
          return "";
        },
        kDeadline, [](int) { return true; }, kReadAll);
    CHECK(told == std::vector<std::string>(static_cast<size_t>(ranks)));
  }
}

TEST_CASE("what the kernel does not hand out is copied in and out", "[peer_memory]") {
  const std::byte* const closed = clocks();
  if (closed == nullptr) {
    WARN("no such mapping here");
    return;
  }
  constexpr size_t kBytes = 64, kQuiet = 2048;  // behind what changes
  std::vector<std::vector<uint8_t>> got(3), sums(3);
  run_reading(3, [&](Communicator& world) {
    std::vector<uint8_t>& out = got[static_cast<size_t>(world.rank())];
    out.assign(3 * kBytes, 7);
    std::vector<uint8_t> own(kBytes, static_cast<uint8_t>(world.rank()));
    const auto* in = world.rank() == 1 ? reinterpret_cast<const uint8_t*>(closed + kQuiet) : own.data();
    world.all_gather(std::span(in, kBytes), out);
    std::vector<uint8_t> sum(kBytes);
    world.all_reduce(std::span(in, kBytes), sum, ReduceOp::Sum);
    sums[static_cast<size_t>(world.rank())] = sum;
  });
  std::vector<uint8_t> right(kBytes, 0);
  const auto* quiet = reinterpret_cast<const uint8_t*>(closed + kQuiet);
  right.insert(right.end(), quiet, quiet + kBytes);
  right.insert(right.end(), kBytes, 2);
  for (const std::vector<uint8_t>& one : got) {
    CHECK(one == right);
  }
  std::vector<uint8_t> sum(quiet, quiet + kBytes);
  std::transform(sum.begin(), sum.end(), sum.begin(), [](uint8_t x) { return static_cast<uint8_t>(x + 2); });
  for (const std::vector<uint8_t>& one : sums) {
    CHECK(one == sum);
  }
}

TEST_CASE("a read says why it cannot be", "[peer_memory]") {
  const SharedArena arena = arena_of(2);
  const PeerMemory mine(arena, 0), other(arena, 1);
  SharedSeat& seat = arena.seat(1);
  seat.process.store(getpid());
  constexpr size_t kPage = 4096;
  const std::shared_ptr<std::byte> memory = memory_for_children(2 * kPage);
  const auto from = reinterpret_cast<uintptr_t>(memory.get());
  std::vector<std::byte> to(2 * kPage);
  std::memset(memory.get(), 5, 2 * kPage);
  CHECK(mine.read(1, from, to) == 0);
  CHECK(to.back() == std::byte{5});
  CHECK(mine.read(1, 8, std::span(to).first(1)) == EFAULT);
  REQUIRE(mprotect(memory.get() + kPage, kPage, PROT_NONE) == 0);
  CHECK(mine.read(1, from, std::span(to).first(kPage)) == 0);
  CHECK(mine.read(1, from, to) == EFAULT);  // the first half comes
  seat.mark.fetch_add(1);
  CHECK(mine.read(1, from, std::span(to).first(kPage)) == ESRCH);  // somebody else
  seat.mark.fetch_sub(1);
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  seat.process.store(child);
  CHECK(mine.read(1, from, std::span(to).first(kPage)) == ESRCH);
}

TEST_CASE("nobody returns with what it has read from one who has given up", "[peer_memory]") {
  const SharedArena arena = arena_of(2);
  SharedPhases impatient(arena, 0, 2, std::chrono::milliseconds(50)), late(arena, 1, 2, std::chrono::milliseconds(5000));
  const auto call = [](SharedPhases& phases) { phases.announce({.sequence = 1}, {}); };
  call(impatient);
  call(late);
  CHECK_THROWS_AS(impatient.meet_after_reading(0), CommError);
  CHECK_THROWS_AS(late.meet_after_reading(0), CommError);
}
