#include "apps/training/gather_texts.h"

#include "collectives/control_scope.h"

namespace ringlet {

// One after the other: rank 0 needs memory for what it keeps, and nobody else for any of it.
std::vector<std::string> gather_texts(Communicator& world, const std::string& mine) {
  const ControlScope control(world);
  auto length = static_cast<int64_t>(mine.size());
  if (world.rank() > 0) {
    world.send(ConstBuffer(&length, 1, DType::I64), 0);
    world.send(ConstBuffer(mine.data(), length, DType::U8), 0);
    return {};
  }
  std::vector<std::string> texts{mine};
  for (int rank = 1; rank < world.size(); ++rank) {
    world.recv(Buffer(&length, 1, DType::I64), rank);
    std::string& text = texts.emplace_back(static_cast<size_t>(length), '\0');
    world.recv(Buffer(text.data(), length, DType::U8), rank);
  }
  return texts;
}

}  // namespace ringlet
