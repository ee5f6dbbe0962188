// How many threads a rank computes with.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/communicator.h"

namespace ringlet {

struct ThreadChoice {
  int threads = 1;  // of this rank
  int ranks_on_host = 1;
  int cores = 1;    // that the ranks of this host may use together
  std::string why;  // "2 cores / 4 ranks"

  /// "4 ranks x 1 thread (2 cores / 4 ranks)"; ranks are those of the whole job.
  std::string text(int ranks) const;
};

/// The share of the host's cores that falls to one rank, at least 1. OMP_NUM_THREADS (`from_environment`, 0: unset) can lower it,
/// not raise it: threads that wait for each other's cores are slower than fewer threads. `asked` (--threads, 0: not given) is
/// taken as it is.
ThreadChoice share_of_cores(int cores, int ranks_on_host, int64_t from_environment, int64_t asked);

/// Call first thing in main. Threads that wait for each other at the end of a parallel loop should sleep soon: where other processes
/// want the cores too, spinning steals the core of the thread that is waited for (measured on 2 busy cores: a step 6 times as long
/// with libgomp's default of 300,000 spins as with 1,000). libgomp reads GOMP_SPINCOUNT when it is loaded, so the process sets it
/// and starts itself again, once; nothing happens when it, or OMP_WAIT_POLICY, is set already.
void sleep_soon_when_waiting(char** argv);

/// (all) Counts the cores that the ranks of this host may run on (their affinity masks together, cut by the container's CPU
/// quota), applies `share_of_cores` and sets OpenMP's number of threads.
ThreadChoice choose_threads(Communicator& world, int64_t asked);

}  // namespace ringlet
