// Flags that were given and change nothing: somebody meant something by them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/training/train_config.h"

namespace ringlet {

/// A line for each, which says what the flag would need. `given` tells whether a flag stands on the command line.
std::vector<std::string> idle_flags(const TrainConfig& config, const std::function<bool(const std::string&)>& given);

}  // namespace ringlet
