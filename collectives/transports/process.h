// Whether another rank's process lives: what a rank that waits wants to know, and only ranks of one host can.
#pragma once

#include <cstdint>

namespace ringlet {

/// This process's number, and the same number on all processes among which such numbers mean the same (one host, one container).
int this_process();
uint64_t process_space();

/// Cores that this process may run on, and all that the host has.
int cores_of_this_process();
int cores_of_this_host();

/// Ended, also when nobody has asked for its exit code yet. A number that is not positive is of nobody, who is not dead.
bool is_dead(int process);

}  // namespace ringlet
