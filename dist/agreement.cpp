#include "dist/agreement.h"

#include "collectives/control_scope.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ringlet {

std::string agree_on_fault(Communicator& comm, const std::string& fault) {
  const ControlScope control(comm);
  std::array<int64_t, 1> first{fault.empty() ? comm.size() : comm.rank()};
  comm.all_reduce(first, ReduceOp::Min);
  if (first[0] == comm.size()) {
    return {};
  }
  return broadcast_text(comm, fault, static_cast<int>(first[0]));
}

std::string broadcast_text(Communicator& comm, const std::string& text, int root) {
  const ControlScope control(comm);
  std::array<int64_t, 1> length{static_cast<int64_t>(text.size())};
  comm.broadcast(length, root);
  std::vector<uint8_t> letters(text.begin(), text.end());
  letters.resize(static_cast<size_t>(length[0]));
  comm.broadcast(letters, root);
  return {letters.begin(), letters.end()};
}

bool same_on_all_ranks(Communicator& comm, uint64_t value) {
  const ControlScope control(comm);
  // ~x = −x − 1 turns the order round, so one minimum gives the least and the greatest.
  std::array<int64_t, 2> bounds{static_cast<int64_t>(value), static_cast<int64_t>(~value)};
  comm.all_reduce(bounds, ReduceOp::Min);
  return bounds[0] == ~bounds[1];
}

}  // namespace ringlet
