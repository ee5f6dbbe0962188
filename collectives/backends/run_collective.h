// From a call to an algorithm with the right types: the glue between backends/p2p and algorithms/.
#pragma once

#include "collectives/algorithms/select.h"
#include "collectives/call.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// Carries out a checked collective of at least two ranks that has been announced to `net`.
void run_collective(PointToPoint& net, const Call& call, const Algorithms& algorithms);

}  // namespace ringlet
