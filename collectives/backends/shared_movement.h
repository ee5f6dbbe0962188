// The collectives that only move data.
//
// Through the staging of an arena a rank copies in what others need of it and copies out what it needs of them; what stays on a rank goes straight.
#pragma once

#include "collectives/backends/shared_places.h"
#include "collectives/call.h"
#include "collectives/transports/shared_staging.h"

namespace ringlet {

/// broadcast, all_gather, gather, scatter, all_to_all and their V forms. The call has been announced.
void move_through(SharedStaging& shared, const Call& call);

/// The same, all_to_all_v apart, straight from where all inputs are. The caller sees to it that they stay there until all are done.
void move_from(const SharedPlaces& places, SharedStaging& shared, const Call& call);

}  // namespace ringlet
