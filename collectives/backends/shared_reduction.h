// The collectives that reduce, through the staging of an arena. In order T (reduce.h), whoever computes.
#pragma once

#include "collectives/call.h"
#include "collectives/transports/shared_staging.h"

namespace ringlet {

/// all_reduce, reduce, reduce_scatter and reduce_scatter_v. The call has been announced.
void reduce_through(SharedStaging& shared, const Call& call);

}  // namespace ringlet
