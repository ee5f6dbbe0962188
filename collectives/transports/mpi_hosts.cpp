#include "collectives/transports/mpi_hosts.h"

#include <mpi.h>

#include "collectives/transports/mpi_errors.h"

namespace ringlet {

std::vector<int> mpi_hosts() {
  int size = 0, lowest = 0;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &lowest), "MPI_Comm_rank");
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  check_mpi(MPI_Bcast(&lowest, 1, MPI_INT, 0, host), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  std::vector<int> hosts(static_cast<size_t>(size));
  check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, hosts.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
  return hosts;
}

}  // namespace ringlet
