// What ranks must choose alike before the first call, since it decides what they say to each other in a call.
#pragma once

#include <string>

#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// (all) A CommError on all ranks that names the odd one, unless `choice` is the same text everywhere; it quotes the first line that
/// differs. Compares 256 characters; costs an all_gather of as many bytes per rank.
void require_same_choice(PointToPoint& net, const std::string& choice);

}  // namespace ringlet
