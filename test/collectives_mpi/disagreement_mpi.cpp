// Ranks that do not make the same call, in a job of mpirun's, over messages and over windows of shared memory: every kind [H6].
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

#include "collectives/backends/mpi.h"
#include "test/collectives/disagreement.h"
#include "test/collectives/other_message.h"

namespace ringlet::test {
namespace {

using Clock = std::chrono::steady_clock;

// Worlds that failed stay, as they would in a program that is about to end.
struct Jobs {
  MpiTransport transport;
  int rank = 0;
  Report report{};
  std::vector<std::unique_ptr<Communicator>> failed{};

  // What told_by says in a world of its own.
  std::string run(const Disagreement& kind, int odd_rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto started = Clock::now();
    std::string text;
    try {
      // Who leaves waits so long for the others to say goodbye, which those who were told of it do not.
      const auto deadline = kind.told == Told::Leaves ? std::chrono::milliseconds(1500) : kind.deadline();
      std::unique_ptr<Communicator> world = make_mpi_world(transport, {.deadline = deadline});
      text = told_by(*world, kind, odd_rank);
      report.expect(text.empty() || Clock::now() - started < std::chrono::seconds(5), "took longer than 5 s");
      if (!text.empty()) {
        failed.push_back(std::move(world));
      }
    } catch (const Error& error) {  // its world has ended while this was on its way
      text = error.what();
    }
    return text;
  }
};

const char* name_of(MpiTransport transport) { return transport == MpiTransport::Messages ? "messages" : "shared memory"; }

int run_all(int rounds) {
  int rank = 0, ranks = 1, failures = 0, checks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<Jobs> all;
  for (const MpiTransport transport : {MpiTransport::Messages, MpiTransport::SharedMemory}) {
    Jobs& jobs = all.emplace_back(Jobs{.transport = transport, .rank = rank});
    for (int round = 1; round <= rounds; ++round) {
      for (const Disagreement& kind : disagreements()) {
        jobs.report.about(message("{} over {}", kind.name, name_of(transport)));
        const int odd_rank = (ranks - round % ranks) % ranks;
        expect_report(jobs.report, jobs.run(kind, odd_rank), kind, rank, ranks, odd_rank);
      }
    }
    for (const OtherMessage& one : other_messages()) {
      jobs.report.about(message("{} f32 for {} {} over {}", one.sent, one.expected, one.dtype, name_of(transport)));
      MPI_Barrier(MPI_COMM_WORLD);
      jobs.failed.push_back(make_mpi_world(transport, {}));
      send_another_message(*jobs.failed.back(), one, jobs.report);
    }
    for (const std::string& failure : jobs.report.failures()) {
      std::fprintf(stderr, "rank %d: %s\n", rank, failure.c_str());
    }
    failures += static_cast<int>(jobs.report.failures().size());
    checks += jobs.report.checks();
  }
  int failed_anywhere = 0;
  MPI_Allreduce(&failures, &failed_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%d ranks, %d checks each, %d failures\n", ranks, checks, failed_anywhere);
  }
  return failed_anywhere == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ringlet::test

// disagreement_mpi [ROUNDS]: each with another odd rank.
int main(int argc, char** argv) {
  const ringlet::MpiSession session;
  try {
    return ringlet::test::run_all(argc > 1 ? std::atoi(argv[1]) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    ringlet::abort_world(1);
  }
}
