#include "collectives/factory.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "collectives/backends/local.h"
#include "collectives/backends/mpi.h"
#include "collectives/backends/nccl.h"
#include "collectives/backends/staged.h"

namespace ringlet {

std::chrono::milliseconds default_deadline() {
  const char* text = std::getenv("RINGLET_COMM_TIMEOUT");
  if (text == nullptr || *text == '\0') {
    return std::chrono::seconds(60);
  }
  double seconds = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, seconds);
  check(error == std::errc() && rest == end && seconds >= 0.001 && seconds <= 1e6,
        "RINGLET_COMM_TIMEOUT: must be seconds in 0.001 … 1000000, got '{}'", text);
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

namespace {

std::unique_ptr<Communicator> make_mpi(const WorldOptions& options) {
  return make_mpi_world(mpi_transport_named(options.transport),
                        {.deadline = options.deadline, .arena_bytes = options.arena_bytes}, options.algorithms);
}

std::unique_ptr<Communicator> make_nccl(const WorldOptions& options) {
  const Algorithm named = options.algorithms.wherever;
  check(named == Algorithm::Auto, "nccl: has algorithms of its own, got '{}'; take the backend mpi", named);
  if (!launched_by_mpi()) {
    require_nccl();  // before MPI starts, which cannot start again in this process
  }
  return make_nccl_world(make_mpi(options), {.deadline = options.deadline, .order = options.algorithms.order});
}

}  // namespace

std::unique_ptr<Communicator> make_world(std::string_view name, const WorldOptions& options) {
  if (name == "local") {
    return make_local();
  }
  if (name == "mpi") {
    std::unique_ptr<Communicator> world = make_mpi(options);
    return options.device == Device::Kind::Cuda ? make_staged(std::move(world), gpu()) : std::move(world);
  }
  if (name == "nccl") {
    return make_nccl(options);
  }
  fail("backend: must be one of local, mpi, nccl, got '{}'", name);
}

}  // namespace ringlet
