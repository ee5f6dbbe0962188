// Texts of all ranks on rank 0.
#pragma once

#include <string>
#include <vector>

#include "collectives/communicator.h"

namespace ringlet {

/// (all) By rank on rank 0, nothing elsewhere.
std::vector<std::string> gather_texts(Communicator& world, const std::string& mine);

}  // namespace ringlet
