// Which ranks of the job share a host.
#pragma once

#include <vector>

namespace ringlet {

/// By rank of the job, the lowest rank on its host. Collective.
std::vector<int> mpi_hosts();

}  // namespace ringlet
