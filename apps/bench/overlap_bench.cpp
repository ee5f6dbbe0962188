// overlap_bench: how much of the communication hides behind computation. Pieces of computation, each followed by the all_reduce of
// a bucket, as in a backward pass: one after the other, and started while the next piece is computed.
//   mpirun -np 2 ./overlap_bench --buckets 8 --bucket-bytes 4194304
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "collectives/backends/mpi.h"
#include "collectives/factory.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  int64_t buckets = 8, bucket_bytes = int64_t{4} << 20, runs = 7;
  double compute_ms = 0;  // of a piece; 0: as long as a bucket takes
  std::string transport = "auto", json;
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// A chain of multiply-adds that needs no memory: what competes with communication is the core alone.
double burn(int64_t rounds, double x) {
  for (int64_t i = 0; i < rounds; ++i) {
    x = x * 0.999999999 + 1e-9;
  }
  return x;
}

class Bench {
 public:
  Bench(Communicator& world, const Flags& flags) : world_(world), flags_(flags) {
    const auto n = static_cast<size_t>(flags.bucket_bytes) / sizeof(float);
    buckets_.assign(static_cast<size_t>(flags.buckets), std::vector<float>(n, 1.0F));
    const double cpu_before = cpu_seconds();
    communication = median([&] { communicate(); });
    communication_cpu = (cpu_seconds() - cpu_before) / static_cast<double>(flags.runs + 1);
    const double piece = flags.compute_ms > 0 ? flags.compute_ms / 1e3 : communication / static_cast<double>(flags.buckets);
    calibrate(piece);
    computation = median([&] { compute(); });
    in_turn = median([&] {
      for (auto& bucket : buckets_) {
        sink_ = burn(rounds_, sink_);
        world_.all_reduce(bucket, ReduceOp::Avg);
      }
    });
    overlapped = median([&] {
      std::vector<Work> under_way;
      for (auto& bucket : buckets_) {
        sink_ = burn(rounds_, sink_);
        under_way.push_back(world_.start_all_reduce(bucket, ReduceOp::Avg));
      }
      for (Work& work : under_way) {
        work.wait();
      }
    });
  }
  double communication_cpu = 0;                                            // of this rank's cores, while nothing else is done
  double communication = 0, computation = 0, in_turn = 0, overlapped = 0;  // seconds

 private:
  void communicate() {
    for (auto& bucket : buckets_) {
      world_.all_reduce(bucket, ReduceOp::Avg);
    }
  }
  void compute() {
    for (int64_t i = 0; i < flags_.buckets; ++i) {
      sink_ = burn(rounds_, sink_);
    }
  }
  // Of the slowest rank.
  double median(const std::function<void()>& body) {
    std::vector<double> times;
    for (int64_t run = 0; run <= flags_.runs; ++run) {
      world_.barrier();
      const auto start = Clock::now();
      body();
      std::vector<double> slowest = {seconds_since(start)};
      world_.all_reduce(slowest, ReduceOp::Max);
      if (run > 0) {
        times.push_back(slowest[0]);
      }
    }
    std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
  }
  void calibrate(double piece) {
    constexpr int64_t kProbe = 2'000'000;
    const auto start = Clock::now();
    sink_ = burn(kProbe, sink_);
    std::vector<double> probe = {seconds_since(start)};
    world_.all_reduce(probe, ReduceOp::Min);
    rounds_ = static_cast<int64_t>(static_cast<double>(kProbe) * piece / probe[0]);
  }

  Communicator& world_;
  const Flags& flags_;
  std::vector<std::vector<float>> buckets_{};
  int64_t rounds_ = 0;
  volatile double sink_ = 0.5;  // what the compiler cannot see through
};

int overlap_bench(int argc, char** argv) {
  CLI::App app("Buckets reduced while computation goes on, beside one after the other. Run it under mpirun.");
  Flags flags;
  app.add_option("--buckets", flags.buckets)->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--bucket-bytes", flags.bucket_bytes)->check(CLI::Range(4, 1 << 30))->capture_default_str();
  app.add_option("--compute-ms", flags.compute_ms, "of computation before each bucket; 0: as long as a bucket takes")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--runs", flags.runs, "of which the median is taken")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--transport", flags.transport, "as gpt_e2e takes it")
      ->check(CLI::IsMember({"auto", "shm", "mpi"}))
      ->capture_default_str();
  app.add_option("--json", flags.json, "Also write the numbers to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const MpiSession session;
  const auto world = make_world("mpi", {.transport = flags.transport});
  const Bench bench(*world, flags);
  const double bucket = bench.communication / static_cast<double>(flags.buckets);
  const double best = std::max(bench.computation, bench.communication) + bucket;
  const nlohmann::ordered_json found = {{"ranks", world->size()},
                                        {"transport", std::string(world->transport())},
                                        {"buckets", flags.buckets},
                                        {"bucket_bytes", flags.bucket_bytes},
                                        {"computation_ms", 1e3 * bench.computation},
                                        {"communication_ms", 1e3 * bench.communication},
                                        {"communication_cpu_ms", 1e3 * bench.communication_cpu},
                                        {"in_turn_ms", 1e3 * bench.in_turn},
                                        {"overlapped_ms", 1e3 * bench.overlapped},
                                        {"best_ms", 1e3 * best},
                                        {"overlapped_over_best", bench.overlapped / best},
                                        {"in_turn_over_overlapped", bench.in_turn / bench.overlapped}};
  if (world->rank() == 0) {
    std::printf("%d ranks over %s\n", world->size(), std::string(world->transport()).c_str());
    for (const auto& [name, value] : found.items()) {
      if (value.is_number_float()) {
        std::printf("%-24s %10.3f\n", name.c_str(), value.get<double>());
      }
    }
    if (!flags.json.empty()) {
      std::ofstream(flags.json) << found.dump(1) << "\n";
    }
  }
  return 0;
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  try {
    return ringlet::overlap_bench(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overlap_bench: %s\n", error.what());
    ringlet::abort_world(1);
  }
}
