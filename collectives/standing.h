// Who stands where when a collective cannot be completed, and the one report of it.
#pragma once

#include <span>
#include <string>

#include "collectives/call_site.h"
#include "collectives/error.h"
#include "collectives/fingerprint.h"

namespace ringlet {

/// One rank, as far as the reporting rank knows.
struct Standing {
  enum class State : uint8_t {
    Silent,     // has not answered: computing, or dead
    InCall,     // waits in `call`
    Outside,    // done with `call`, computing
    InMessage,  // done with `call`, waits for a message
    Left,       // has destroyed its communicator
    Failed,     // has destroyed it because of an exception
    Dead,       // its process has ended
  };
  State state = State::Silent;
  Fingerprint call{};  // now, or last
  SiteText site{};     // of that call
};

/// The error that rank `rank` throws. `standings` has a row per rank. The reason is, in this order: a rank that failed or is dead,
/// which explains everything else; who differs from whom and in what, where calls differ; the rank that has not come, where
/// `peer` itself waits or is -1; and else `complaint`, which is about `peer`. `peer()` is the one to blame, if it is one. Below it a
/// table: rank, call with number and size, call site, state.
CommError disagreement(int rank, int peer, const std::string& complaint, std::span<const Standing> standings);

}  // namespace ringlet
