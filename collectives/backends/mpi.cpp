#include "collectives/backends/mpi.h"

namespace ringlet {

std::unique_ptr<Communicator> make_mpi_world(MpiOptions options, Algorithms algorithms) {
  return make_p2p(make_mpi_point_to_point(options), "mpi", algorithms);
}

}  // namespace ringlet
