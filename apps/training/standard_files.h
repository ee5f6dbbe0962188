// Standard input, output and error as a program finds them: perhaps closed, perhaps on a disk that is full.
#pragma once

#include <string>

namespace ringlet {

/// A standard file that is closed would be opened by the first who opens anything, a socket of MPI's say, and then be printed into. From
/// here on none is: what goes to a closed standard output fails, what goes to a closed standard error is lost.
void keep_standard_files();

/// Whether all that was printed to standard output has arrived. Flushes it.
bool all_was_printed();
/// What to say where it has not.
inline constexpr const char* kNotPrinted = "standard output: what was to be printed could not be written";

/// Copies `from` to `to` until its end; 0, or the error of the first write that failed. Reads on after that: whoever writes shall not wait.
int relay(int from, int to);

}  // namespace ringlet
