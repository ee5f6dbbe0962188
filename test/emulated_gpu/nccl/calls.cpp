// NCCL's operations, emulated: each makes of its arguments what the rank will do on the stream.
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "test/emulated_gpu/nccl/communicator.h"

namespace ringlet::emulated_gpu {
namespace {

// Messages of the innermost group of this thread; calls of one communicator and stream, as is all that ringlet has in a group.
struct Group {
  int depth = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Transfer> transfers{};
};
thread_local Group group;

std::byte* bytes(const void* data) { return static_cast<std::byte*>(const_cast<void*>(data)); }
std::span<std::byte> range(const void* data, size_t count) { return {bytes(data), count}; }

ncclResult_t message(bool incoming, const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                     cudaStream_t stream) {
  group.comm = comm;
  group.stream = stream;
  group.transfers.push_back({incoming, peer, range(data, count * size_of(type))});
  return ncclSuccess;
}

// Everybody else's bytes at this rank: `part` of a rank's input is what goes to a rank.
struct Collected {
  std::vector<std::vector<std::byte>> boxes{};
  std::vector<const std::byte*> inputs{};
};

// Rank i's `bytes` from offset(r) of its input, at every rank r that `receives`; false when aborted.
template <typename Offset, typename Receives>
bool collect(Core& core, Collected& all, const void* in, size_t n, Offset offset, Receives receives) {
  std::vector<Transfer> transfers;
  all.boxes.resize(static_cast<size_t>(core.ranks()));
  for (int r = 0; r < core.ranks(); ++r) {
    auto& box = all.boxes[static_cast<size_t>(r)];
    if (r == core.rank()) {
      box.assign(bytes(in) + offset(r), bytes(in) + offset(r) + n);
      continue;
    }
    if (receives(r)) {
      transfers.push_back({false, r, range(bytes(in) + offset(r), n)});
    }
    if (receives(core.rank())) {
      box.resize(n);
      transfers.push_back({true, r, box});
    }
  }
  for (const auto& box : all.boxes) {
    all.inputs.push_back(box.data());
  }
  return core.transfer(std::move(transfers));
}

constexpr auto kNoOffset = [](int) { return size_t{0}; };
constexpr auto kEverybody = [](int) { return true; };

}  // namespace
}  // namespace ringlet::emulated_gpu

using namespace ringlet::emulated_gpu;  // NOLINT(google-build-using-namespace): the functions below have to be global

ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  const Operator what = comm->operator_of(op);
  return comm->queue(
      "ncclReduce",
      [=](Core& core) {
        Collected all;
        const auto is_root = [root](int r) { return r == root; };
        if (collect(core, all, in, count * size_of(type), kNoOffset, is_root) && core.rank() == root) {
          reduce_round(all.inputs, static_cast<size_t>(root) + 1, bytes(out), count, type, what);
        }
      },
      stream);
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return comm->queue(
      "ncclBroadcast",
      [=](Core& core) {
        const size_t n = count * size_of(type);
        std::vector<Transfer> transfers;
        if (core.rank() != root) {
          transfers.push_back({true, root, range(out, n)});
        }
        for (int r = 0; r < core.ranks() && core.rank() == root; ++r) {
          if (r != root) {
            transfers.push_back({false, r, range(in, n)});
          }
        }
        if (core.transfer(std::move(transfers)) && core.rank() == root && in != out) {
          std::memcpy(out, in, n);
        }
      },
      stream);
}

// The ring: piece c begins at rank c + 1.
ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  const Operator what = comm->operator_of(op);
  return comm->queue(
      "ncclAllReduce",
      [=](Core& core) {
        Collected all;
        if (!collect(core, all, in, count * size_of(type), kNoOffset, kEverybody)) {
          return;
        }
        const auto P = static_cast<size_t>(core.ranks());
        const size_t piece = (count + P - 1) / P;
        for (size_t c = 0; c * piece < count; ++c) {
          std::vector<const std::byte*> inputs;
          for (const std::byte* input : all.inputs) {
            inputs.push_back(input + c * piece * size_of(type));
          }
          const size_t n = std::min(piece, count - c * piece);
          reduce_round(inputs, c + 1, bytes(out) + c * piece * size_of(type), n, type, what);
        }
      },
      stream);
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  const Operator what = comm->operator_of(op);
  return comm->queue(
      "ncclReduceScatter",
      [=](Core& core) {
        Collected all;
        const size_t n = count * size_of(type);
        if (collect(
                core, all, in, n, [n](int r) { return static_cast<size_t>(r) * n; }, kEverybody)) {
          reduce_round(all.inputs, static_cast<size_t>(core.rank()) + 1, bytes(out), count, type, what);
        }
      },
      stream);
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm, cudaStream_t stream) {
  return comm->queue(
      "ncclAllGather",
      [=](Core& core) {
        Collected all;
        const size_t n = count * size_of(type);
        if (!collect(core, all, in, n, kNoOffset, kEverybody)) {
          return;
        }
        for (size_t r = 0; r < all.inputs.size(); ++r) {
          std::memcpy(bytes(out) + r * n, all.inputs[r], n);
        }
      },
      stream);
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return message(false, data, count, type, peer, comm, stream);
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return message(true, data, count, type, peer, comm, stream);
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) {
    return ncclInvalidUsage;
  }
  if (--group.depth > 0 || group.transfers.empty()) {
    return ncclSuccess;
  }
  return group.comm->queue(
      "ncclGroupEnd", [transfers = std::exchange(group.transfers, {})](Core& core) { core.transfer(transfers); }, group.stream);
}
