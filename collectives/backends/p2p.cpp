#include "collectives/backends/p2p.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/algorithms/binomial_tree.h"
#include "collectives/algorithms/direct.h"
#include "collectives/algorithms/dissemination.h"
#include "collectives/algorithms/recursive_doubling.h"
#include "collectives/algorithms/ring.h"
#include "collectives/backends/local.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

template <typename T>
std::span<const T> elements(const ConstBuffer& buffer) {
  return {static_cast<const T*>(buffer.data), static_cast<size_t>(buffer.count)};
}
template <typename T>
std::span<T> elements(const Buffer& buffer) {
  return {static_cast<T*>(buffer.data), static_cast<size_t>(buffer.count)};
}
std::span<const std::byte> bytes_of(const ConstBuffer& buffer) { return {buffer.begin(), buffer.bytes()}; }
std::span<std::byte> bytes_of(const Buffer& buffer) { return {buffer.begin(), buffer.bytes()}; }

void copy_unless_same(const ConstBuffer& from, const Buffer& to) {
  if (from.data != to.data) {
    std::memcpy(to.data, from.data, from.bytes());
  }
}

template <Reducible T>
void run_all_reduce(PointToPoint& net, const Call& call, Algorithm algorithm) {
  const std::span<T> out = elements<T>(call.out);
  switch (algorithm) {
    case Algorithm::OneShot: return one_shot_all_reduce<T>(net, elements<T>(call.in), out, call.op);
    case Algorithm::RecursiveDoubling:
      copy_unless_same(call.in, call.out);
      return recursive_doubling_all_reduce(net, out, call.op);
    case Algorithm::Ring: copy_unless_same(call.in, call.out); return ring_all_reduce(net, out, call.op);
    case Algorithm::BinomialTree:
      binomial_tree_reduce<T>(net, elements<T>(call.in), out, call.op, 0);
      return binomial_tree_broadcast(net, out, 0);
    default: return direct_all_reduce<T>(net, elements<T>(call.in), out, call.op);
  }
}

template <Reducible T>
void run_reduce_scatter(PointToPoint& net, const Call& call, Algorithm algorithm) {
  const auto implementation = algorithm == Algorithm::Ring ? ring_reduce_scatter<T> : direct_reduce_scatter<T>;
  implementation(net, elements<T>(call.in), elements<T>(call.out), call.op);
}

template <Reducible T>
void run_reduce(PointToPoint& net, const Call& call, Algorithm algorithm) {
  const auto implementation = algorithm == Algorithm::BinomialTree ? binomial_tree_reduce<T> : direct_reduce<T>;
  implementation(net, elements<T>(call.in), elements<T>(call.out), call.op, call.peer);
}

void run_all_gather(PointToPoint& net, const Call& call, Algorithm algorithm) {
  copy_unless_same(call.in, call.out.slice(net.rank() * call.in.count, call.in.count));
  // Chunks of bytes are the shards, because the whole is P shards exactly.
  algorithm == Algorithm::Ring ? ring_all_gather(net, bytes_of(call.out)) : direct_all_gather(net, bytes_of(call.out));
}

class P2pCommunicator final : public Communicator {
 public:
  P2pCommunicator(std::unique_ptr<PointToPoint> net, std::string name, Algorithms algorithms, std::string group)
      : Communicator(net->rank(), net->size(), std::move(group)),
        net_(std::move(net)),
        name_(std::move(name)),
        algorithms_(algorithms),
        group_hash_(hash_text(this->group())) {}

  std::string_view name() const override { return name_; }
  std::string_view transport() const override { return net_->name(); }

  void run(const Call& call) override {
    check(call.in.device.kind == Device::Kind::Cpu && call.out.device.kind == Device::Kind::Cpu,
          "{}: backend '{}' moves host memory, got {}", call.operation, name_, call.in.device);
    if (size() == 1) {
      return run_alone(call);
    }
    if (!is_collective(call.operation)) {
      return start_message(call).wait();
    }
    net_->announce(fingerprint_of(call, group_hash_));
    run_collective(call);
    net_->conclude();
  }

  Work start(const Call& call) override {
    if (is_collective(call.operation)) {
      run(call);
      return {};
    }
    return Work(std::make_unique<Message>(*this, call, start_message(call)));
  }

 private:
  void run_collective(const Call& call) {
    const auto typed = [&](auto&& body) { dispatch_all(call.in.dtype, body); };
    PointToPoint& net = *net_;
    if (is_rooted(call.operation)) {  // nobody returns before all agree, also where the data reach only some
      dissemination_barrier(net);
    }
    switch (call.operation) {
      case Operation::Broadcast: return binomial_tree_broadcast(net, bytes_of(call.out), call.peer);
      case Operation::Reduce:
        return typed([&]<typename T>() { run_reduce<T>(net, call, select(call, size(), algorithms_.reduce)); });
      case Operation::AllReduce:
        return typed([&]<typename T>() { run_all_reduce<T>(net, call, select(call, size(), algorithms_.all_reduce)); });
      case Operation::AllGather: return run_all_gather(net, call, select(call, size(), algorithms_.all_gather));
      case Operation::ReduceScatter:
        return typed([&]<typename T>() { run_reduce_scatter<T>(net, call, select(call, size(), algorithms_.reduce_scatter)); });
      default: return dissemination_barrier(net);
    }
  }

  // A message on its way, whose errors name the call.
  class Message final : public Work::Pending {
   public:
    Message(const P2pCommunicator& owner, const Call& call, Work work) : owner_(owner), call_(call), work_(std::move(work)) {}
    bool done() override { return work_.done(); }
    void wait() override {
      try {
        work_.wait();
      } catch (const CommError& error) {
        throw owner_.during(call_, error);
      }
    }

   private:
    const P2pCommunicator& owner_;
    Call call_;
    Work work_;
  };

  Work start_message(const Call& call) {
    const int tag = PointToPoint::kCollectiveTag + 1 + call.tag;
    if (call.operation == Operation::Send) {
      const Outgoing out{call.peer, bytes_of(call.in)};
      return net_->start_transfer({&out, 1}, {}, tag);
    }
    const Incoming in{call.peer, bytes_of(call.out)};
    return net_->start_transfer({}, {&in, 1}, tag);
  }

  std::unique_ptr<Communicator> do_split(int color, int key) override {
    std::unique_ptr<PointToPoint> part = net_->split(color, key);
    return part == nullptr ? nullptr : make_p2p(std::move(part), name_, algorithms_, message("{}/{}", group(), color));
  }

  std::unique_ptr<PointToPoint> net_;
  std::string name_;
  Algorithms algorithms_;
  uint64_t group_hash_;
};

}  // namespace

std::unique_ptr<Communicator> make_p2p(std::unique_ptr<PointToPoint> net, std::string name, Algorithms algorithms,
                                       std::string group) {
  return std::make_unique<P2pCommunicator>(std::move(net), std::move(name), algorithms, std::move(group));
}

}  // namespace ringlet
