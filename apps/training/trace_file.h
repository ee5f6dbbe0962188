// The timelines of all ranks (collectives/timeline.h) as one file in the Trace Event Format that Perfetto and chrome://tracing open:
// per rank a row of what it computed and a row of what it communicated. Communication that overlaps itself takes further rows.
#pragma once

#include <string>

#include "collectives/communicator.h"
#include "collectives/recorded.h"

namespace ringlet {

/// (all) Rank 0 writes, if there is a timeline. Times are those of the hosts' clocks, from the first span of rank 0 on. Throws
/// AgreedFailure.
void write_trace(const std::string& path, const Recorder& recorder, Communicator& world);

/// The events of `rank`, separated by commas; `zero_ns` on this process's steady clock is time 0.
std::string trace_events(const Timeline& timeline, int rank, int64_t zero_ns);

}  // namespace ringlet
