#include "collectives/backends/mpi.h"

#include <array>

#include "collectives/asynchronous.h"
#include "collectives/backends/same_choice.h"
#include "collectives/backends/shared_memory.h"
#include "collectives/transports/handover.h"
#include "collectives/transports/mpi_hosts.h"
#include "collectives/transports/mpi_window.h"
#include "collectives/transports/peer_memory.h"
#include "collectives/transports/process.h"

namespace ringlet {

MpiTransport mpi_transport_named(std::string_view name) {
  if (name == "auto") {
    return MpiTransport::Auto;
  }
  check(name == "mpi" || name == "shm", "transport: must be one of auto, shm, mpi, got '{}'", name);
  return name == "mpi" ? MpiTransport::Messages : MpiTransport::SharedMemory;
}

namespace {

// What is read where it is, as measured (docs/shared_memory.md, "Near and far"): below, two copies are faster. Where nobody knows how far
// cores are, they are taken for near: to be wrong about that costs less.
CopyOnce copied_once(const SharedArena& arena, int ranks) {
  constexpr double kFarNs = 250;
  constexpr size_t kKB = size_t{1} << 10, kMB = kKB << 10;
  const double handover_ns = arena.head().handover_ns.load();
  if (handover_ns > kFarNs) {
    return {.broadcasts_from = 64 * kKB, .moves_from = 64 * kKB, .reduces_from = 128 * kKB};
  }
  if (ranks == 2 && arena.core_for_each()) {
    return {.broadcasts_from = 256 * kKB, .moves_from = 128 * kKB, .reduces_from = 512 * kKB, .reduces_to = 8 * kMB};
  }
  return {.broadcasts_from = 64 * kKB, .moves_from = 64 * kKB};
}

constexpr size_t kSpared = size_t{4} << 20;  // of the shared memory, for MPI's own files

// How the arena is divided depends on the cores. A rank may see fewer than another one does: those of its container, or where the C
// library means it so, those that it may run on.
int cores_that_a_rank_sees(Communicator& messages) {
  std::array<int32_t, 1> cores = {cores_of_this_host()};
  messages.all_reduce(cores, ReduceOp::Max);
  return cores[0];
}

// `messages` are the ranks of one host.
std::unique_ptr<Communicator> share_memory(std::unique_ptr<Communicator> messages, const MpiOptions& options, int cores) {
  const int ranks = messages->size();
  const SharedArena arena(
      allocate_shared_window(SharedArena::world_bytes(ranks, options.arena_bytes, cores)), ranks,
      [] { return !mpi_finished(); }, options.arena_bytes, cores);
  if (messages->rank() == 0) {
    arena.prepare();
  }
  messages->barrier();
  if (arena.core_for_each()) {
    measure_handover(arena, messages->rank(), ranks);
  }
  const std::string why_not = why_no_peer_memory(arena, *messages);  // all meet in it
  const CopyOnce copy_once = why_not.empty() ? copied_once(arena, ranks) : CopyOnce{.why_not = why_not};
  return make_shared_memory(arena, std::move(messages), options.deadline, options.compare_calls, copy_once);
}

// The ranks of each host share memory and hosts send messages, where hosts have equally many ranks; else there are only messages.
std::unique_ptr<Communicator> make_by_hosts(std::unique_ptr<PointToPoint> net, const MpiOptions& options,
                                            const Algorithms& algorithms) {
  const HostMap map{mpi_hosts()};
  if (!(algorithms.order == ReductionOrder::Any ? map.even() : map.keeps_order())) {
    return make_p2p(std::move(net), "mpi", algorithms);
  }
  Hosts hosts = make_hosts(*net, map, "mpi", algorithms, [&](std::unique_ptr<Communicator> inside) {
    const int cores = cores_that_a_rank_sees(*inside);
    const bool room = shared_windows_fit(SharedArena::world_bytes(inside->size(), 0, cores) + kSpared);
    return room ? share_memory(std::move(inside), {.deadline = options.deadline}, cores) : std::move(inside);
  });
  return make_p2p(std::move(net), "mpi", algorithms, "world", std::move(hosts));
}

std::string name_of(MpiTransport transport) {
  return transport == MpiTransport::Auto ? "auto" : transport == MpiTransport::Messages ? "mpi" : "shm";
}

// All that make_transport, and later each call, decides by, a line each.
std::string choice_of(MpiTransport transport, const MpiOptions& options, const Algorithms& algorithms) {
  const CostModel& costs = algorithms.model;
  return message(
      "transport {}\nalgorithm {}\nall_reduce {}\nall_gather {}\nreduce_scatter {}\nreduce {}\ngather {}\nscatter {}\norder "
      "{}\n"
      "costs {} {} {}\narena bytes {}",
      name_of(transport), algorithms.wherever, algorithms.all_reduce, algorithms.all_gather, algorithms.reduce_scatter,
      algorithms.reduce, algorithms.gather, algorithms.scatter, algorithms.order, costs.alpha, costs.beta, costs.gamma,
      options.arena_bytes);
}

std::unique_ptr<Communicator> make_transport(MpiTransport transport, const MpiOptions& options, const Algorithms& algorithms) {
  const bool named = algorithms.wherever != Algorithm::Auto;
  check(!named || transport != MpiTransport::SharedMemory,
        "transport: shm has algorithms of its own, got '{}'; take auto or mpi with an algorithm by name", algorithms.wherever);
  std::unique_ptr<PointToPoint> net = make_mpi_point_to_point(options);  // and with it MPI, if need be
  if (net->size() > 1) {
    require_same_choice(*net, choice_of(transport, options, algorithms));
  }
  if (transport == MpiTransport::Messages || named || net->size() == 1) {
    return make_p2p(std::move(net), "mpi", algorithms);
  }
  const bool together = all_on_one_host();
  check(together || transport != MpiTransport::SharedMemory, "transport: shm needs all ranks on one host; take auto or mpi");
  if (!together) {
    return make_by_hosts(std::move(net), options, algorithms);
  }
  std::unique_ptr<Communicator> messages = make_p2p(std::move(net), "mpi", algorithms);
  const int cores = cores_that_a_rank_sees(*messages);
  const size_t bytes = SharedArena::world_bytes(messages->size(), options.arena_bytes, cores) + kSpared;
  const bool fits = shared_windows_fit(bytes);
  check(fits || transport != MpiTransport::SharedMemory,
        "transport: shm needs {} MB in /dev/shm, which has {} left; give it more, or take auto or mpi", bytes >> 20,
        shared_window_space() >> 20);
  return fits ? share_memory(std::move(messages), options, cores) : std::move(messages);
}

}  // namespace

std::unique_ptr<Communicator> make_mpi_world(MpiTransport transport, MpiOptions options, const Algorithms& algorithms) {
  std::unique_ptr<Communicator> world = make_transport(transport, options, algorithms);
  return world->size() > 1 && mpi_allows_threads() ? make_asynchronous(std::move(world)) : std::move(world);
}

std::unique_ptr<Communicator> make_mpi_world(MpiOptions options, Algorithms algorithms) {
  return make_p2p(make_mpi_point_to_point(options), "mpi", algorithms);
}

std::shared_ptr<CallHistory> mpi_call_history(const Communicator& world) {
  if (world.size() == 1 || !all_on_one_host()) {
    return std::make_shared<CallHistory>(world.rank());
  }
  std::shared_ptr<std::byte> window = allocate_shared_window(CallHistory::bytes() * static_cast<size_t>(world.size()));
  return std::make_shared<CallHistory>(std::move(window), world.size(), world.rank());
}

}  // namespace ringlet
