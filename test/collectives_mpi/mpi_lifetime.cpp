// Communicators come and go: 70,000 of them, and one that is destroyed when MPI has finished already [H9].
#include <cstdio>
#include <memory>
#include <vector>

#include "collectives/backends/mpi.h"
#include "collectives/factory.h"

namespace {

// A world that nobody started MPI for starts it, and finishes it when it goes.
int world_alone() {
  const std::unique_ptr<ringlet::Communicator> world = ringlet::make_world("mpi");
  std::vector<float> data = {1.0F};
  world->all_reduce(data, ringlet::ReduceOp::Sum);
  return data[0] == static_cast<float>(world->size()) ? 0 : 1;
}

}  // namespace

int main(int argc, char**) {
  using ringlet::Communicator;
  if (argc > 1) {
    return world_alone();
  }
  std::unique_ptr<Communicator> late, window;
  {
    const ringlet::MpiSession session;
    late = ringlet::make_world("mpi", {.transport = "mpi"});
    try {
      for (int i = 0; i < 70000; ++i) {
        const std::unique_ptr<Communicator> part = late->split(0, -late->rank());
        if (part->size() != late->size() || part->rank() != late->size() - 1 - late->rank()) {
          std::fprintf(stderr, "split %d: got rank %d of %d\n", i, part->rank(), part->size());
          ringlet::abort_world(1);
        }
      }
      window = ringlet::make_world("mpi", {.transport = "shm"});
      window->barrier();
      late->barrier();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ringlet::abort_world(1);
    }
  }
  late.reset();
  window.reset();
  try {
    late = ringlet::make_world("mpi");
  } catch (const ringlet::Error&) {
    return 0;  // MPI cannot start twice, and we say so
  }
  return 1;
}
