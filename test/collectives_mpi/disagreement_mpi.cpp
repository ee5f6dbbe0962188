// Ranks that do not make the same call, over MPI messages: every kind once, and a rank that ends by an exception [H6].
#include <mpi.h>

#include <cstdio>

#include "collectives/backends/mpi.h"
#include "test/collectives/disagreement.h"

namespace ringlet::test {
namespace {

using Clock = std::chrono::steady_clock;

// Worlds that failed stay, as they would in a program that is about to end.
struct Jobs {
  std::vector<std::unique_ptr<Communicator>> failed{};
  Report report{};

  template <typename Body>
  std::string run(const MpiOptions& options, Body&& body) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto started = Clock::now();
    std::unique_ptr<Communicator> world = make_mpi_world(options);
    std::string text = body(*world);
    if (!text.empty()) {
      failed.push_back(std::move(world));
    }
    world.reset();
    report.expect(Clock::now() - started < std::chrono::seconds(5), "took longer than 5 s");
    return text;
  }
};

void every_kind(Jobs& jobs, int rank, int ranks) {
  for (const Disagreement& kind : disagreements()) {
    jobs.report.about(kind.name);
    const int odd_rank = ranks - 1;
    const std::string text = jobs.run({}, [&](Communicator& world) { return told_by(world, kind, odd_rank); });
    expect_report(jobs.report, text, kind, rank, ranks, odd_rank);
  }
}

// The world of rank 1 ends while an exception is on its way out.
void an_exception(Jobs& jobs, int rank) {
  jobs.report.about("an exception");
  std::string text;
  try {
    const std::unique_ptr<Communicator> world = make_mpi_world();
    sum_of_four(*world);
    check(rank != 1, "injected");
    sum_of_four(*world);
  } catch (const CommError& error) {
    text = error.what();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): rank 1's own
  }
  jobs.report.expect(rank == 1 || text.find("peer 1: rank 1 has left because of an exception") != std::string::npos, "got '{}'",
                     text);
}

// Only time can tell that rank 0 waits in another group than the others.
void another_group(Jobs& jobs) {
  jobs.report.about("another group");
  const std::string text = jobs.run({.deadline = std::chrono::milliseconds(500)}, [](Communicator& world) -> std::string {
    const std::unique_ptr<Communicator> part = world.split(0, 0);
    try {
      world.rank() == 0 ? part->barrier() : world.barrier();
    } catch (const CommError& error) {
      return error.what();
    }
    return "";
  });
  jobs.report.expect(text.find("group") != std::string::npos, "got '{}'", text);
}

int run_all() {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Jobs jobs;
  every_kind(jobs, rank, ranks);
  an_exception(jobs, rank);
  another_group(jobs);
  for (const std::string& failure : jobs.report.failures()) {
    std::fprintf(stderr, "rank %d: %s\n", rank, failure.c_str());
  }
  int mine = static_cast<int>(jobs.report.failures().size()), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%d ranks, %d checks each, %d failures\n", ranks, jobs.report.checks(), all);
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
