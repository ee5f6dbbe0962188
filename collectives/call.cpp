#include "collectives/call.h"

#include <numeric>

namespace ringlet {

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::Broadcast: return "broadcast";
    case Operation::Reduce: return "reduce";
    case Operation::AllReduce: return "all_reduce";
    case Operation::AllGather: return "all_gather";
    case Operation::ReduceScatter: return "reduce_scatter";
    case Operation::Gather: return "gather";
    case Operation::Scatter: return "scatter";
    case Operation::AllToAll: return "all_to_all";
    case Operation::AllGatherV: return "all_gather_v";
    case Operation::ReduceScatterV: return "reduce_scatter_v";
    case Operation::GatherV: return "gather_v";
    case Operation::ScatterV: return "scatter_v";
    case Operation::AllToAllV: return "all_to_all_v";
    case Operation::Barrier: return "barrier";
    case Operation::Split: return "split";
    case Operation::Leave: return "leave";
    case Operation::Send: return "send";
    case Operation::Recv: return "recv";
    case Operation::Exchange: return "exchange";
  }
  return "?";
}

Call formula_call(Operation operation, int64_t elements, DType dtype, int ranks, Device device) {
  const bool scatters = operation == Operation::ReduceScatter, gathers = operation == Operation::AllGather;
  return {.operation = operation,
          .in = {nullptr, gathers ? elements / ranks : elements, dtype, device},
          .out = {nullptr, scatters ? elements / ranks : elements, dtype, device}};
}

int64_t agreed_count(const Call& call) {
  if (has_counts(call.operation)) {
    return std::accumulate(call.counts.begin(), call.counts.end(), int64_t{0});
  }
  switch (call.operation) {
    case Operation::Recv:
    case Operation::Scatter: return call.out.count;
    case Operation::AllToAllV: return -1;
    default: return call.in.count;
  }
}

}  // namespace ringlet
