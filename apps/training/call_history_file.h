// The last calls of every rank as files, for the day on which communication fails.
#pragma once

#include <string>

#include "collectives/call_history.h"

namespace ringlet {

/// A folder under runs/ that no other run has: "runs/gpt_e2e-20261129-195209-4781-calls".
std::string new_call_history_folder(const std::string& program);

/// Writes FOLDER/calls_rank_00000.json of this rank, and of every other rank whose calls can be read here and whose file is not there:
/// it may be dead, and a late rank will be ended before it can write. Makes the folder. Returns a sentence for the message: where
/// they are, or why not.
std::string write_call_histories(const CallHistory& history, const std::string& folder);

/// {"rank", "process", "state" ("alive" or "dead"), "written_by", "calls": [{"number", "sequence", "operation", "count", "dtype", "op",
/// "peer", "group", "site", "state", "start_s", "duration_us"}, …]}, the oldest call first. What a call does not have is null.
std::string call_history_json(const CallHistory& history, int rank);

}  // namespace ringlet
