// The collectives that only move data, through the staging of an arena.
//
// A rank copies in what others need of it and copies out what it needs of them; what stays on a rank goes straight.
#pragma once

#include "collectives/call.h"
#include "collectives/transports/shared_staging.h"

namespace ringlet {

/// broadcast, all_gather, gather, scatter, all_to_all and their V forms. The call has been announced.
void move_through(SharedStaging& shared, const Call& call);

}  // namespace ringlet
