// Reading what another rank of the host has in its own memory, where it stands: one copy, made by the kernel.
//
// process_vm_readv (Linux; the field says cross memory attach, CMA) needs neither preparation nor help of the owner, but the right to
// trace its process. A container, a security module or another user may withhold that, so it is tried before it is relied on. It costs
// two things that a copy from shared memory does not: a call, 1 us, and for every page of 4 KB some 150 ns to look it up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "collectives/communicator.h"
#include "collectives/transports/shared_arena.h"

namespace ringlet {

/// The memory of the ranks of an arena. Every rank keeps a number that nobody else has, and shows in its seat where; a read takes it
/// along, and so cannot be answered by a stranger who has been given the number of a process that has ended.
class PeerMemory {
 public:
  PeerMemory(SharedArena arena, int rank);

  /// Copies from address `from` of rank r. 0, or why not as errno has it: ESRCH, its process has ended; EFAULT, there is no such memory,
  /// or none that the kernel hands out (a device's); EPERM, it is not allowed.
  int read(int r, uint64_t from, std::span<std::byte> to) const;

  /// Whether others can read `memory` of this rank: the kernel does not hand out what is a device's.
  static bool hands_out(std::span<const std::byte> memory);

 private:
  SharedArena arena_;
  std::unique_ptr<uint64_t> mark_;
};

/// (all) Empty where each of the ranks, which talk over `messages`, can read the memory of each other; else why not, alike on all in
/// being empty or not. RINGLET_CMA=off is a reason, too.
std::string why_no_peer_memory(const SharedArena& arena, Communicator& messages);

}  // namespace ringlet
