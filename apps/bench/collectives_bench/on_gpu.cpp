#include "apps/bench/collectives_bench/on_gpu.h"

#include <cstdio>

#include "apps/bench/collectives_bench/case.h"
#include "apps/bench/collectives_bench/measure.h"
#include "tensor/base/allocator.h"
#include "tensor/base/gpu.h"

namespace ringlet {
namespace {

// Of the bytes, the part that must cross each GPU's link.
double sent_part(const std::string& op, int ranks) {
  const double others = static_cast<double>(ranks - 1) / ranks;
  return op == "all_reduce" ? 2 * others : op == "reduce_scatter" || op == "all_gather" ? others : 1.0;
}

GpuRow time_one(Communicator& world, Pools& pools, const std::string& op, int64_t bytes, double seconds) {
  const Case one = make_case(op, bytes, world, pools);
  require_right(world, one, pools);
  const Figures figures = race(world, one, seconds, {{&pools, one.ours}}).front();
  const double sent = sent_part(op, world.size()) * static_cast<double>(one.bytes);
  return {op, one.bytes, figures.median(), figures.p99(), sent / figures.median() / 1e3};
}

}  // namespace

std::vector<GpuRow> time_on_gpu(Communicator& world, const std::vector<std::string>& ops, const ByteRange& range,
                                double seconds) {
  if (world.rank() == 0) {
    std::printf("%d ranks on GPUs over %s, fp32; us per call (median), GB/s of each GPU's link\n%-15s %10s %11s %11s %11s\n",
                world.size(), std::string(world.transport()).c_str(), "operation", "bytes", "ours", "p99", "bus GB/s");
  }
  Pools pools(range.last, gpu().memory(Allocator::current()->device().index));
  std::vector<GpuRow> rows;
  for (const std::string& op : ops) {
    for (int64_t bytes = range.first; bytes <= range.last; bytes *= range.growth) {
      rows.push_back(time_one(world, pools, op, bytes, seconds));
      const GpuRow& row = rows.back();
      if (world.rank() == 0) {
        std::printf("%-15s %10lld %11.1f %11.1f %11.2f\n", op.c_str(), static_cast<long long>(row.bytes), row.median_us,
                    row.p99_us, row.bus_gb_s);
        std::fflush(stdout);
      }
    }
  }
  return rows;
}

}  // namespace ringlet
