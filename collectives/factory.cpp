#include "collectives/factory.h"

#include "collectives/backends/local.h"
#include "collectives/backends/mpi.h"

namespace ringlet {

std::unique_ptr<Communicator> make_world(std::string_view name, const WorldOptions& options) {
  if (name == "local") {
    return make_local();
  }
  if (name == "mpi") {
    return make_mpi_world(MpiOptions{.deadline = options.deadline});
  }
  if (name == "nccl") {
    fail<BackendUnavailable>("nccl: this build has no CUDA; take the backend mpi");
  }
  fail("backend: must be one of local, mpi, nccl, got '{}'", name);
}

}  // namespace ringlet
