#include "collectives/transports/peer_memory.h"

#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "collectives/transports/process.h"

namespace ringlet {
namespace {

uint64_t address_of(const void* data) { return reinterpret_cast<uintptr_t>(data); }

iovec at(uint64_t address, size_t bytes) { return {reinterpret_cast<void*>(static_cast<uintptr_t>(address)), bytes}; }

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

bool is_wanted() {
  const char* text = std::getenv("RINGLET_CMA");  // mpi_environment_fault() refuses what is neither
  return text == nullptr || *text == '\0';
}

// Empty, or why this rank cannot read another.
std::string try_all(const PeerMemory& peers, const SharedArena& arena, int ranks) {
  for (int r = 0; r < ranks; ++r) {
    uint64_t copy = 0;
    const int error = peers.read(r, arena.seat(r).mark_address.load(), std::as_writable_bytes(std::span(&copy, 1)));
    if (error != 0) {
      return message("process_vm_readv: {}", std::strerror(error));
    }
  }
  return {};
}

}  // namespace

PeerMemory::PeerMemory(SharedArena arena, int rank) : arena_(std::move(arena)), mark_(new uint64_t(random_number())) {
  SharedSeat& seat = arena_.seat(rank);
  seat.mark.store(*mark_);
  seat.mark_address.store(address_of(mark_.get()));
}

int PeerMemory::read(int r, uint64_t from, std::span<std::byte> to) const {
  const SharedSeat& seat = arena_.seat(r);
  const uint64_t right = seat.mark.load(), right_at = seat.mark_address.load();
  while (!to.empty()) {
    uint64_t mark = 0;
    const std::array<iovec, 2> here = {at(address_of(&mark), sizeof(mark)), at(address_of(to.data()), to.size())};
    const std::array<iovec, 2> there = {at(right_at, sizeof(mark)), at(from, to.size())};
    const ssize_t got = process_vm_readv(seat.process.load(), here.data(), here.size(), there.data(), there.size(), 0);
    if (got < 0) {
      return errno;
    }
    if (static_cast<size_t>(got) < sizeof(mark) || mark != right) {
      return ESRCH;
    }
    const size_t n = static_cast<size_t>(got) - sizeof(mark);  // fewer where a page is missing, or beyond 2 GB
    if (n == 0) {
      return EFAULT;
    }
    from += n;
    to = to.subspan(n);
  }
  return 0;
}

// What a process may not read of itself nobody may.
bool PeerMemory::hands_out(std::span<const std::byte> memory) {
  std::array<std::byte, 2> ends{};
  const iovec here = at(address_of(ends.data()), ends.size());
  const std::array<iovec, 2> there = {at(address_of(memory.data()), 1), at(address_of(&memory.back()), 1)};
  return process_vm_readv(this_process(), &here, 1, there.data(), there.size(), 0) == std::ssize(ends);
}

std::string why_no_peer_memory(const SharedArena& arena, Communicator& messages) {
  SharedSeat& seat = arena.seat(messages.rank());
  seat.process.store(this_process());
  const PeerMemory peers(arena, messages.rank());
  const bool wanted = is_wanted();
  messages.barrier();
  std::string why = wanted ? try_all(peers, arena, messages.size()) : "RINGLET_CMA is off";
  std::array<int32_t, 1> all_can = {why.empty() ? 1 : 0};
  messages.all_reduce(all_can, ReduceOp::Min);
  return why.empty() && all_can[0] == 0 ? "another rank cannot" : why;
}

}  // namespace ringlet
