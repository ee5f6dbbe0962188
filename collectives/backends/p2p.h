// Collectives made of messages: an algorithm (algorithms/) on a transport (transports/).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "collectives/algorithms/hierarchical.h"
#include "collectives/algorithms/select.h"
#include "collectives/communicator.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// A communicator over `net`, for host memory. `name` is the backend's name. `start_send` and `start_recv` return at once;
/// collectives are done when their `start_*` returns. With `hosts` a long all_reduce, reduce_scatter or all_gather for
/// which no algorithm is asked is hierarchical; parts of a split send messages only.
std::unique_ptr<Communicator> make_p2p(std::unique_ptr<PointToPoint> net, std::string name, Algorithms algorithms = {},
                                       std::string group = "world", Hosts hosts = {});

/// (all) This rank's two groups of `net`, whose ranks are on the hosts that `map` says, and even. `inside` makes the communicator of
/// a host from one that sends messages: itself, or one that shares memory.
Hosts make_hosts(PointToPoint& net, const HostMap& map, const std::string& name, const Algorithms& algorithms,
                 const std::function<std::unique_ptr<Communicator>(std::unique_ptr<Communicator>)>& inside);

}  // namespace ringlet
