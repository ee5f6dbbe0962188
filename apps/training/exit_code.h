// How a program ends: the exit codes that every program of ringlet shares.
#pragma once

namespace ringlet {

enum class ExitCode : int {
  Done = 0,
  InvariantFailed = 1,
  Usage = 2,          // a flag is unknown, malformed, out of range or contradicts another
  Data = 3,           // input, corpus or output; and what has no code of its own
  Checkpoint = 4,     // refused or failed
  Communication = 5,  // mismatch, deadline, dead rank
  NonFinite = 6,      // and the retries are spent
  Unavailable = 7,    // device or backend
  SavedAfterSignal = 75,
};

constexpr int to_int(ExitCode code) { return static_cast<int>(code); }

/// The part of --help that explains them.
inline constexpr const char* kExitCodeHelp =
    "Exit codes:\n"
    "  0 done                  1 an invariant failed      2 usage\n"
    "  3 input, corpus, output 4 checkpoint refused or failed\n"
    "  5 communication (mismatch, deadline, dead rank)\n"
    "  6 the guard refused a step (not finite, spike) and retries are spent\n"
    "  7 device or backend not available, MPI cannot start\n"
    "  75 saved after a signal, start me again\n"
    "  130 ended by Ctrl-C (through --np); under plain mpirun a killed rank gives mpirun's own 137\n";

}  // namespace ringlet
