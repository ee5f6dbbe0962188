#include "collectives/call.h"

namespace ringlet {

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::Broadcast: return "broadcast";
    case Operation::Reduce: return "reduce";
    case Operation::AllReduce: return "all_reduce";
    case Operation::AllGather: return "all_gather";
    case Operation::ReduceScatter: return "reduce_scatter";
    case Operation::Barrier: return "barrier";
    case Operation::Split: return "split";
    case Operation::Leave: return "leave";
    case Operation::Send: return "send";
    case Operation::Recv: return "recv";
  }
  return "?";
}

}  // namespace ringlet
