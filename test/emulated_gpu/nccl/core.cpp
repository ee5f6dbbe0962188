#include "test/emulated_gpu/nccl/core.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

namespace ringlet::emulated_gpu {
namespace {

constexpr std::chrono::microseconds kNap(50);

// A transfer under way, its length first.
struct Progress {
  explicit Progress(const Transfer& one) : transfer(one), length(one.bytes.size()) {}

  bool done() const { return header == sizeof(length) && moved == transfer.bytes.size(); }
  std::span<std::byte> rest_of_header(uint64_t& box) const {
    return std::as_writable_bytes(std::span(&box, 1)).subspan(header);
  }
  // Whether anything has moved.
  bool move(Wire& wire) {
    const size_t before = header + moved;
    if (header < sizeof(length)) {
      std::span<std::byte> rest = rest_of_header(transfer.incoming ? announced : length);
      header += transfer.incoming ? wire.pull(transfer.peer, rest) : wire.push(transfer.peer, rest);
    }
    const bool fits = !transfer.incoming || announced == length;
    if (header == sizeof(length) && fits) {
      std::span<std::byte> rest = transfer.bytes.subspan(moved);
      moved += transfer.incoming ? wire.pull(transfer.peer, rest) : wire.push(transfer.peer, rest);
    }
    return header + moved > before;
  }

  Transfer transfer;
  uint64_t length;
  uint64_t announced = 0;
  size_t header = 0;
  size_t moved = 0;
};

bool same_wire(const Progress& a, const Progress& b) {
  return a.transfer.incoming == b.transfer.incoming && a.transfer.peer == b.transfer.peer;
}

}  // namespace

bool Core::transfer(std::vector<Transfer> transfers) {
  std::vector<Progress> waiting(transfers.begin(), transfers.end());
  while (!waiting.empty() && !aborted.load()) {
    bool moved = false;
    for (size_t i = 0; i < waiting.size(); ++i) {
      bool first = true;
      for (size_t j = 0; j < i; ++j) {
        first = first && !same_wire(waiting[i], waiting[j]);
      }
      moved = (first && waiting[i].move(*wire)) || moved;
    }
    std::erase_if(waiting, [](const Progress& one) { return one.done(); });
    if (!moved) {
      std::this_thread::sleep_for(kNap);
    }
  }
  return waiting.empty();
}

void Core::hang() const {
  while (!aborted.load()) {
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace ringlet::emulated_gpu
