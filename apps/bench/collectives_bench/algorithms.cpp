#include "apps/bench/collectives_bench/algorithms.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "apps/bench/collectives_bench/measure.h"
#include "collectives/algorithms/select.h"
#include "collectives/backends/mpi.h"

namespace ringlet {
namespace {

Operation operation_named(const std::string& op) {
  for (const Operation one : {Operation::AllReduce, Operation::ReduceScatter, Operation::AllGather, Operation::Reduce}) {
    if (name_of(one) == op) {
      return one;
    }
  }
  return Operation::Broadcast;
}

}  // namespace

std::vector<AlgorithmRow> race_algorithms(const AlgorithmsRun& run, bool speaks) {
  const std::unique_ptr<Communicator> world = make_mpi_world();
  Pools pools(run.max_bytes, system_arena());
  if (speaks) {
    std::printf("%d ranks, MPI messages, fp32; us per call\n%-15s %10s %-20s %11s %11s %11s\n", world->size(), "operation",
                "bytes", "algorithm", "median", "p99", "predicted");
  }
  std::vector<AlgorithmRow> rows;
  for (const std::string& op : run.ops) {
    const Operation operation = operation_named(op);
    const std::vector<Algorithm> algorithms = algorithms_of(operation, world->size());
    std::vector<std::unique_ptr<Communicator>> worlds;
    for (const Algorithm algorithm : algorithms) {
      worlds.push_back(make_mpi_world({}, Algorithms{.wherever = algorithm}));
    }
    for (int64_t bytes = run.min_bytes; bytes <= run.max_bytes; bytes *= run.growth) {
      std::vector<Case> cases;
      std::vector<Contestant> contestants;
      for (const auto& one : worlds) {
        cases.push_back(make_case(op, bytes, *one, pools));
        contestants.push_back({&pools, cases.back().ours});
      }
      const std::vector<Figures> figures = race(*world, cases.front(), run.seconds, contestants);
      for (size_t k = 0; k < algorithms.size(); ++k) {
        const double predicted =
            1e6 * CostModel().seconds(cost_of(operation, algorithms[k], static_cast<double>(cases[k].bytes), world->size()));
        const AlgorithmRow& row = rows.emplace_back(AlgorithmRow{.op = op,
                                                                 .algorithm = std::string(name_of(algorithms[k])),
                                                                 .bytes = cases[k].bytes,
                                                                 .median_us = figures[k].median(),
                                                                 .p99_us = figures[k].p99(),
                                                                 .predicted_us = predicted});
        if (speaks) {
          std::printf("%-15s %10lld %-20s %11.1f %11.1f %11.1f\n", op.c_str(), static_cast<long long>(row.bytes),
                      row.algorithm.c_str(), row.median_us, row.p99_us, row.predicted_us);
          std::fflush(stdout);
        }
      }
    }
  }
  return rows;
}

}  // namespace ringlet
