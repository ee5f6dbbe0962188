// The conformance body over MPI messages, with unlimited and with tiny messages, and against Open MPI's own calls. Every rank
// collects its failures; they are added up before anybody says a word, so rank 0 alone speaks and all exit alike.
#include <mpi.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "collectives/backends/mpi.h"
#include "collectives/factory.h"
#include "test/collectives_mpi/against_mpi.h"
#include "test/conformance/conformance.h"
#include "test/support/serial_reference.h"

namespace ringlet::test {
namespace {

// Messages of at most `limit` bytes: counts that MPI cannot express go the same way.
void send_in_pieces(Report& report, size_t limit) {
  report.about(message("messages in pieces of {} bytes [H1]", limit));
  const std::unique_ptr<Communicator> world = make_mpi_world({.max_message_bytes = limit});
  const int P = world->size(), r = world->rank();
  for (int64_t n = 1; n <= 50; ++n) {
    std::vector<float> data = input_of<float>(r, n), full(static_cast<size_t>(n * P)), shard(data.size());
    world->all_gather(data, full);
    world->reduce_scatter(full, shard, ReduceOp::Max);
    world->all_reduce(data, ReduceOp::Sum);
    std::vector<float> root = input_of<float>(r, n);
    world->broadcast(root, P - 1);
    std::vector<float> part(root.size()), swapped(full.size()), back(full.size());
    world->all_to_all(full, swapped);  // full is the same on all ranks: everybody gets piece r of it P times
    world->scatter(full, part, 0);
    world->gather(part, back, P - 1);
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      report.expect(same_bits(data[at], reduced_value<float>(ReduceOp::Sum, P, i)), "all_reduce, {} of {}", i, n);
      report.expect(same_bits(root[at], input_value<float>(P - 1, i)), "broadcast, {} of {}", i, n);
      report.expect(same_bits(shard[at], input_value<float>(r, i)), "reduce_scatter, {} of {}", i, n);
      report.expect(same_bits(part[at], full[static_cast<size_t>(r * n + i)]), "scatter, {} of {}", i, n);
      for (int rank = 0; rank < P; ++rank) {
        report.expect(same_bits(swapped[static_cast<size_t>(rank * n + i)], part[at]), "all_to_all, {} of {}", i, n);
        report.expect(same_bits(full[static_cast<size_t>(rank * n + i)], input_value<float>(rank, i)), "all_gather, {} of {}",
                      i, n);
      }
    }
    report.expect(r != P - 1 || back == full, "gather, {}", n);
  }
}

void places_are_known(Communicator& world, Report& report) {
  report.about("places on this host");
  const HostPlace place = place_on_host();
  report.expect(place.rank == world.rank() && place.size == world.size(), "got {} of {}", place.rank, place.size);
  report.expect(launched_by_mpi() || world.size() == 1, "more than one rank without a launcher");
}

// A rank that waits in vain says for whom, when its deadline has passed once: the others have a second more to say where they stand.
void waits_have_a_deadline(Report& report) {
  report.about("a deadline");
  constexpr std::chrono::milliseconds kDeadline(2000), kAnswers(1000), kLate(1500);
  const std::unique_ptr<Communicator> world = make_mpi_world({.deadline = kDeadline});
  std::vector<float> data(4);
  if (world->size() > 1 && world->rank() == 0) {
    const auto started = std::chrono::steady_clock::now();
    report.expect_error<CommError>("recv #1 on rank 0 of", [&] { world->recv(data, 1); });
    report.expect(std::chrono::steady_clock::now() - started < kDeadline + kAnswers + kLate, "waited for a second deadline");
    report.expect_error<CommError>("peer 1: sent nothing within the deadline of 2000 ms", [&] { world->recv(data, 1); });
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// The names of a window are gone as soon as all have mapped it. (Of another job's one may be there for a moment.)
void windows_have_no_names(Report& report) {
  report.about("names of shared memory");
  const std::unique_ptr<Communicator> world = make_mpi_world(MpiTransport::SharedMemory);
  const auto names = [] {
    int found = 0;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      found += file.path().filename().string().find("osc_sm") != std::string::npos ? 1 : 0;
    }
    return found;
  };
  int found = names();
  for (int i = 0; found > 0 && i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    found = names();
  }
  report.expect(found == 0, "{} are there", found);
}

int run_all() {
  const std::unique_ptr<Communicator> world = make_world("mpi", {.transport = "mpi"});
  const std::unique_ptr<Communicator> window = make_world("mpi", {.transport = "shm"});
  Report report = run_conformance(*world);
  compare_with_mpi(*world, report);
  if (world->size() > 1) {
    report.expect(window->transport() == "shm" && make_world("mpi", {.transport = "auto"})->transport() == "shm", "got {}",
                  window->transport());
    const Report more = run_conformance(*window);
    for (const std::string& failure : more.failures()) {
      report.expect(false, "over shared memory, {}", failure);
    }
    compare_with_mpi(*window, report);
    windows_have_no_names(report);
  }
  send_in_pieces(report, 7);
  send_in_pieces(report, 28);
  places_are_known(*world, report);
  waits_have_a_deadline(report);
  for (const std::string& failure : report.failures()) {
    std::fprintf(stderr, "%s\n", failure.c_str());
  }
  int mine = static_cast<int>(report.failures().size()), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (world->rank() == 0) {
    std::printf("%d ranks, %d checks each, %d failures\n", world->size(), report.checks(), all);
  }
  return all == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ringlet::test

int main() {
  const ringlet::MpiSession session;
  try {
    return ringlet::test::run_all();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ringlet::abort_world(1);
  }
}
