// overlap_bench: how much of the communication hides behind computation. Pieces of computation, each followed by the all_reduce of
// a bucket, as in a backward pass: one after the other, and started while the next piece is computed.
//   mpirun -np 2 ./overlap_bench --buckets 8 --bucket-bytes 4194304
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/harness/bench_main.h"
#include "apps/bench/harness/call_time.h"
#include "apps/bench/harness/moment.h"
#include "tensor/ops/arithmetic.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

struct Sizes {
  int64_t buckets = 8, bucket_bytes = int64_t{4} << 20, runs = 7;
  double compute_ms = 0;  // of a piece; 0: as long as a bucket takes
};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Computation that needs no memory beyond a cache: what competes with communication is the core, or the GPU, alone.
class Computation {
 public:
  explicit Computation(bool on_gpu) : on_gpu_(on_gpu), numbers_(Tensor::full({on_gpu ? int64_t{1} << 18 : 1}, 0.5)) {}

  // On the CPU a chain of multiply-adds; on a GPU kernels over a megabyte, one after the other.
  void run(int64_t rounds) {
    if (on_gpu_) {
      for (int64_t i = 0; i < rounds; ++i) {
        scale_into(numbers_, 0.999999);
      }
      return;
    }
    double x = sink_;
    for (int64_t i = 0; i < rounds; ++i) {
      x = x * 0.999999999 + 1e-9;
    }
    sink_ = x;
  }
  int64_t probe_rounds() const { return on_gpu_ ? 200 : 2'000'000; }

 private:
  bool on_gpu_;
  Tensor numbers_;
  volatile double sink_ = 0.5;  // what the compiler cannot see through
};

class Bench {
 public:
  Bench(Communicator& world, const Sizes& sizes, bool on_gpu) : world_(world), sizes_(sizes), computation_(on_gpu) {
    for (int64_t i = 0; i < sizes.buckets; ++i) {
      tensors_.push_back(Tensor::full({sizes.bucket_bytes / int64_t{sizeof(float)}}, 1.0, DType::F32, Category::Communication));
      Tensor& one = tensors_.back();
      buckets_.emplace_back(one.mutable_raw_data(), one.numel(), one.dtype(), one.device());
    }
    const double cpu_before = cpu_seconds();
    communication = median_of([&] { communicate(); });
    communication_cpu = (cpu_seconds() - cpu_before) / static_cast<double>(sizes.runs + 1);
    calibrate(sizes.compute_ms > 0 ? sizes.compute_ms / 1e3 : communication / static_cast<double>(sizes.buckets));
    computation = median_of([&] {
      for (int64_t i = 0; i < sizes_.buckets; ++i) {
        computation_.run(rounds_);
      }
    });
    in_turn = median_of([&] {
      for (const Buffer& bucket : buckets_) {
        computation_.run(rounds_);
        world_.all_reduce(bucket, ReduceOp::Avg);
      }
    });
    overlapped = median_of([&] {
      std::vector<Work> under_way;
      for (const Buffer& bucket : buckets_) {
        computation_.run(rounds_);
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
    for (const Buffer& bucket : buckets_) {
      world_.all_reduce(bucket, ReduceOp::Avg);
    }
  }
  // Of the slowest rank.
  double median_of(const std::function<void()>& body) {
    std::vector<double> times;
    for (int64_t run = 0; run <= sizes_.runs; ++run) {
      wait_for_device();
      world_.barrier();
      const auto start = Clock::now();
      body();
      wait_for_device();
      std::vector<double> slowest = {seconds_since(start)};
      world_.all_reduce(slowest, ReduceOp::Max);
      if (run > 0) {
        times.push_back(slowest[0]);
      }
    }
    return median(times);
  }
  void calibrate(double piece) {
    const int64_t probe_rounds = computation_.probe_rounds();
    computation_.run(probe_rounds / 10);
    wait_for_device();
    const auto start = Clock::now();
    computation_.run(probe_rounds);
    wait_for_device();
    std::vector<double> probe = {seconds_since(start)};
    world_.all_reduce(probe, ReduceOp::Min);
    rounds_ = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(probe_rounds) * piece / probe[0]));
  }

  Communicator& world_;
  const Sizes& sizes_;
  Computation computation_;
  std::vector<Tensor> tensors_{};
  std::vector<Buffer> buckets_{};
  int64_t rounds_ = 0;
};

std::string overlap_bench(const Sizes& sizes, const BenchSettings& settings) {
  const auto world = settings.world();
  const Bench bench(*world, sizes, settings.on_gpu());
  const double bucket = bench.communication / static_cast<double>(sizes.buckets);
  const double best = std::max(bench.computation, bench.communication) + bucket;
  const nlohmann::ordered_json found = {{"ranks", world->size()},
                                        {"transport", std::string(world->transport())},
                                        {"buckets", sizes.buckets},
                                        {"bucket_bytes", sizes.bucket_bytes},
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
  }
  return found.dump(1);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  Sizes sizes;
  const auto add_flags = [&](Flags& flags) {
    flags.whole("--buckets", sizes.buckets, 1, 10'000, "that are reduced");
    flags.whole("--bucket-bytes", sizes.bucket_bytes, 4, 1 << 30, "of f32");
    flags.real("--compute-ms", sizes.compute_ms, {0.0, 1e6}, "of computation before each bucket; 0: as long as a bucket takes");
    flags.whole("--runs", sizes.runs, 1, 1'000'000, "of which the median is taken");
  };
  return bench_main(
      {.name = "overlap_bench",
       .description = "Buckets reduced while computation goes on, beside one after the other. Run it under mpirun.",
       .ranks = BenchRanks::OfJob,
       .flags = add_flags,
       .run = [&](const BenchSettings& settings) { return overlap_bench(sizes, settings); }},
      argc, argv);
}
