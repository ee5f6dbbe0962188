// Collectives made of messages: an algorithm (algorithms/) on a transport (transports/).
#pragma once

#include <memory>
#include <string>

#include "collectives/algorithms/select.h"
#include "collectives/communicator.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// A communicator over `net`, for host memory. `name` is the backend's name. `start_send` and `start_recv` return at once;
/// collectives are done when their `start_*` returns.
std::unique_ptr<Communicator> make_p2p(std::unique_ptr<PointToPoint> net, std::string name, Algorithms algorithms = {},
                                       std::string group = "world");

}  // namespace ringlet
