#include "collectives/factory.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "collectives/backends/local.h"
#include "collectives/backends/mpi.h"

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

std::unique_ptr<Communicator> make_world(std::string_view name, const WorldOptions& options) {
  if (name == "local") {
    return make_local();
  }
  if (name == "mpi") {
    return make_mpi_world(mpi_transport_named(options.transport),
                          {.deadline = options.deadline, .arena_bytes = options.arena_bytes}, options.algorithms);
  }
  if (name == "nccl") {
    fail<BackendUnavailable>("nccl: this build has no CUDA; take the backend mpi");
  }
  fail("backend: must be one of local, mpi, nccl, got '{}'", name);
}

}  // namespace ringlet
