#include "collectives/backends/shared_memory.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/reduce.h"
#include "collectives/transports/shared_rounds.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

constexpr size_t kPiece = size_t{128} << 10;  // bytes that one claims at a time: long enough to pay for an atomic

void copy(const void* from, void* to, size_t bytes) {
  if (bytes > 0 && from != to) {
    std::memcpy(to, from, bytes);
  }
}

class SharedMemoryCommunicator final : public Communicator {
 public:
  SharedMemoryCommunicator(SharedArena arena, std::unique_ptr<Communicator> messages, std::chrono::milliseconds deadline)
      : Communicator(messages->rank(), messages->size(), messages->group()),
        segment_(SharedArena::segment(messages->size())),
        group_hash_(hash_text(messages->group())),
        messages_(std::move(messages)),
        rounds_(std::move(arena), rank(), size(), deadline) {}

  std::string_view name() const override { return messages_->name(); }
  std::string_view transport() const override { return "shm"; }

  void run(const Call& call) override {
    if (size() == 1 || !is_collective(call.operation)) {
      return messages_->run(call);
    }
    check(call.in.device.kind == Device::Kind::Cpu && call.out.device.kind == Device::Kind::Cpu,
          "{}: backend '{}' moves host memory, got {}", call.operation, name(), call.in.device);
    rounds_.announce(fingerprint_of(call, group_hash_), text_of(call.site));
    if (by_messages(call.operation)) {  // compared here, carried there
      rounds_.meet();
      messages_->run(call);
      return rounds_.conclude();
    }
    dispatch_all(call.in.dtype, [&]<typename T>() { run_collective<T>(call); });
    rounds_.conclude();
  }
  Work start(const Call& call) override {
    if (size() == 1 || !is_collective(call.operation)) {
      return messages_->start(call);
    }
    run(call);
    return {};
  }

 private:
  static bool by_messages(Operation operation) {
    return operation == Operation::Gather || operation == Operation::Scatter || operation == Operation::AllToAll ||
           operation == Operation::AllToAllV || has_counts(operation);
  }

  template <Reducible T>
  void run_collective(const Call& call) {
    switch (call.operation) {
      case Operation::Broadcast: return broadcast_bytes(call);
      case Operation::Reduce: return reduce_to_root<T>(call);
      case Operation::AllReduce: return reduce_to_all<T>(call);
      case Operation::AllGather: return gather_bytes(call);
      case Operation::ReduceScatter: return reduce_to_owners<T>(call);
      default: return rounds_.meet();
    }
  }

  // Calls body(begin, n) for the segments of `total`, each of at most `longest`.
  template <typename Body>
  static void in_segments(size_t total, size_t longest, Body&& body) {
    for (size_t begin = 0; begin < total; begin += longest) {
      body(begin, std::min(longest, total - begin));
    }
  }

  // The parts [offset, offset + n) of all ranks' staging, in rank order.
  template <typename T>
  std::vector<const T*>& staged(size_t offset) {
    static_assert(sizeof(const T*) == sizeof(const void*));
    auto& inputs = std::get<std::vector<const T*>>(inputs_);
    inputs.resize(static_cast<size_t>(size()));
    for (int r = 0; r < size(); ++r) {
      inputs[static_cast<size_t>(r)] = reinterpret_cast<const T*>(rounds_.of(r)) + offset;
    }
    return inputs;
  }

  template <Reducible T>
  void reduce_to_all(const Call& call) {
    const T* in = static_cast<const T*>(call.in.data);
    T* out = static_cast<T*>(call.out.data);
    const size_t piece = kPiece / sizeof(T);
    in_segments(static_cast<size_t>(call.in.count), segment_ / sizeof(T), [&](size_t begin, size_t n) {
      copy(in + begin, rounds_.mine(), n * sizeof(T));
      rounds_.complete(static_cast<uint32_t>((n + piece - 1) / piece), [&](uint32_t i) {
        const size_t from = i * piece;
        T* result = reinterpret_cast<T*>(const_cast<std::byte*>(rounds_.result())) + from;
        reduce_in_order<T>(staged<T>(from), std::span<T>(result, std::min(piece, n - from)), call.op);
      });
      copy(rounds_.result(), out + begin, n * sizeof(T));
    });
  }

  template <Reducible T>
  void reduce_to_root(const Call& call) {
    const T* in = static_cast<const T*>(call.in.data);
    in_segments(static_cast<size_t>(call.in.count), segment_ / sizeof(T), [&](size_t begin, size_t n) {
      copy(in + begin, rounds_.mine(), n * sizeof(T));
      rounds_.meet();
      if (rank() == call.peer) {
        reduce_in_order<T>(staged<T>(0), std::span<T>(static_cast<T*>(call.out.data) + begin, n), call.op);
      }
    });
  }

  // Of every shard the same segment: each owner then finds its part of all inputs.
  template <Reducible T>
  void reduce_to_owners(const Call& call) {
    const auto shard = static_cast<size_t>(call.out.count);
    const T* in = static_cast<const T*>(call.in.data);
    T* out = static_cast<T*>(call.out.data);
    in_segments(shard, segment_ / sizeof(T) / static_cast<size_t>(size()), [&](size_t begin, size_t n) {
      for (size_t r = 0; r < static_cast<size_t>(size()); ++r) {
        copy(in + r * shard + begin, rounds_.mine() + r * n * sizeof(T), n * sizeof(T));
      }
      rounds_.meet();
      reduce_in_order<T>(staged<T>(static_cast<size_t>(rank()) * n), std::span<T>(out + begin, n), call.op);
    });
  }

  void gather_bytes(const Call& call) {
    const size_t shard = call.in.bytes();
    in_segments(shard, segment_, [&](size_t begin, size_t n) {
      copy(call.in.begin() + begin, rounds_.mine(), n);
      rounds_.meet();
      for (int r = 0; r < size(); ++r) {
        const std::byte* from = r == rank() ? call.in.begin() + begin : rounds_.of(r);
        copy(from, call.out.begin() + static_cast<size_t>(r) * shard + begin, n);
      }
    });
  }

  void broadcast_bytes(const Call& call) {
    in_segments(call.out.bytes(), segment_, [&](size_t begin, size_t n) {
      if (rank() == call.peer) {
        copy(call.in.begin() + begin, rounds_.mine(), n);
      }
      rounds_.meet();
      if (rank() != call.peer) {
        copy(rounds_.of(call.peer), call.out.begin() + begin, n);
      }
    });
  }

  // Parts talk by messages.
  std::unique_ptr<Communicator> do_split(int color, int key) override { return messages_->split(color, key); }

  size_t segment_;
  uint64_t group_hash_;
  std::unique_ptr<Communicator> messages_;
  SharedRounds rounds_;
  std::tuple<std::vector<const float*>, std::vector<const double*>, std::vector<const bf16*>, std::vector<const int32_t*>,
             std::vector<const int64_t*>, std::vector<const uint8_t*>>
      inputs_{};  // reused
};

}  // namespace

std::unique_ptr<Communicator> make_shared_memory(SharedArena arena, std::unique_ptr<Communicator> messages,
                                                 std::chrono::milliseconds deadline) {
  return std::make_unique<SharedMemoryCommunicator>(std::move(arena), std::move(messages), deadline);
}

}  // namespace ringlet
