// The flag --device.
#pragma once

#include <string>

namespace ringlet {

/// What --device means beside --backend: left out, it is cuda with nccl and else cpu. UsageError where the two contradict.
std::string chosen_device(const std::string& asked, const std::string& backend);

}  // namespace ringlet
