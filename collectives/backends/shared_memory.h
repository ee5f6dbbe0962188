// Collectives between the ranks of one host through shared memory.
//
// A rank shows the others its part by copying it into the arena (copy in), and takes what it needs from there (copy out). A
// segment of the staging is small enough to stay in a cache, so memory sees each input read once and each output written once:
// the floor. What a rank needs from itself it takes from its own buffer. Waiting decides the rest: a collective of one segment
// has one or two phases, and between arriving at a phase and waiting for it a rank goes on with the next segment.
//
// Bytes that a rank copies, P ranks, s bytes:          in              reduced       out            phases per segment
//   all_reduce, reduce, short or between two            s               P·s           –              1
//   all_reduce, reduce (out at the root)                s·(P−1)/P       s             s·(P−1)/P      2, pipelined
//   reduce_scatter (s the whole)                        s·(P−1)/P       s             –              1
//   all_gather, gather (s the whole)                    s/P             –             s              1
//   all_to_all                                          s·(P−1)/P       –             s              1
//   broadcast, scatter (s the whole)                    s at the root   –             the rest       1
// Without copies in, and with two or three phases in all, go buffers in the arena, and long ones that may be read where they are
// (shared_direct.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "collectives/communicator.h"
#include "collectives/transports/shared_arena.h"

namespace ringlet {

/// Which private buffers are read where they are (transports/peer_memory.h): by default none, and why.
struct CopyOnce {
  size_t broadcasts_from = SIZE_MAX;  // bytes
  size_t moves_from = SIZE_MAX;       // bytes that a rank gives or gets of another, in what else only moves
  size_t reduces_from = SIZE_MAX;     // bytes of an all_reduce
  size_t reduces_to = SIZE_MAX;       // and beyond this many in and out again
  std::string why_not{};
};

/// `messages` is a communicator of the same ranks: it carries send and recv. The arena is a world's, and prepared. Parts have arenas
/// inside it while there is room, and talk by messages otherwise; so do parts of parts.
std::unique_ptr<Communicator> make_shared_memory(SharedArena arena, std::unique_ptr<Communicator> messages,
                                                 std::chrono::milliseconds deadline, bool compare_calls = true,
                                                 CopyOnce copy_once = {});

}  // namespace ringlet
