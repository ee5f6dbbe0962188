#include "collectives/backends/p2p.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "collectives/algorithms/dissemination.h"
#include "collectives/backends/local.h"
#include "collectives/backends/run_collective.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

std::span<const std::byte> bytes_of(const ConstBuffer& buffer) { return {buffer.begin(), buffer.bytes()}; }
std::span<std::byte> bytes_of(const Buffer& buffer) { return {buffer.begin(), buffer.bytes()}; }

class P2pCommunicator final : public Communicator {
 public:
  P2pCommunicator(std::unique_ptr<PointToPoint> net, std::string name, Algorithms algorithms, std::string group, Hosts hosts)
      : Communicator(net->rank(), net->size(), std::move(group)),
        net_(std::move(net)),
        name_(std::move(name)),
        algorithms_(algorithms),
        hosts_(std::move(hosts)),
        group_hash_(hash_text(this->group())) {}

  std::string_view name() const override { return name_; }
  std::string_view transport() const override { return hosts_.inside == nullptr ? net_->name() : "hierarchical"; }
  std::optional<Moved> moved() const override {
    Moved all = net_->sent();
    if (hosts_.inside != nullptr) {
      all += hosts_.inside->moved().value_or(Moved{});
      all += hosts_.across->moved().value_or(Moved{});
    }
    return all;
  }
  int64_t held_bytes() const override { return hosts_.inside == nullptr ? 0 : hosts_.inside->held_bytes(); }
  int64_t scratch_bytes(const Call& call) const override {
    if (size() == 1) {
      return 0;
    }
    if (goes_by_hosts(call)) {
      return hierarchical_scratch_bytes(hosts_, call);
    }
    if (!is_reduction(call.operation)) {
      return 0;
    }
    const bool uneven = call.operation == Operation::ReduceScatterV;
    return scratch_of(uneven ? Operation::ReduceScatter : call.operation,
                      uneven ? Algorithm::Direct : select(call, size(), algorithms_),
                      {call.in.count, static_cast<int64_t>(size_of(call.in.dtype)), size()});
  }

  void look_after_peers() override { net_->look_after_peers(); }

  void run(const Call& call) override {
    require_ready(call);
    if (size() == 1) {
      return run_alone(call);
    }
    if (!is_collective(call.operation)) {
      return Message(*this, call).wait();
    }
    net_->announce(fingerprint_of(call, group_hash_), text_of(call.site));
    goes_by_hosts(call) ? run_by_hosts(call) : run_collective(*net_, call, algorithms_);
    net_->conclude();
  }

  Work start(const Call& call) override {
    if (is_collective(call.operation)) {
      run(call);
      return {};
    }
    require_ready(call);
    return Work(std::make_unique<Message>(*this, call));
  }

 private:
  bool goes_by_hosts(const Call& call) const {
    const bool half = call.operation == Operation::ReduceScatter || call.operation == Operation::AllGather;
    const size_t bytes = std::max(call.in.bytes(), call.out.bytes());
    return hosts_.inside != nullptr && algorithms_.of(call.operation, size()) == Algorithm::Auto &&
           ((call.operation == Operation::AllReduce && bytes >= kHierarchicalBytes) ||
            (half && hosts_.in_blocks && bytes >= kHierarchicalHalfBytes));
  }
  // First everybody agrees that this is the call; in the groups within nobody compares with all.
  void run_by_hosts(const Call& call) {
    dissemination_barrier(*net_);
    try {
      switch (call.operation) {
        case Operation::ReduceScatter: hierarchical_reduce_scatter(hosts_, call.in, call.out, call.op); break;
        case Operation::AllGather: hierarchical_all_gather(hosts_, call.in, call.out); break;
        default: hierarchical_all_reduce(hosts_, call.in, call.out, call.op);
      }
    } catch (const CommError& error) {
      throw CommError({.rank = rank(), .size = size()}, message("in {}, {}", error.where().group, error.reason()));
    }
  }

  void require_ready(const Call& call) const {
    check_host_memory(call, name_);
    if (refused_) {
      throw *refused_;
    }
  }

  // What a message is of goes before it: bytes alone would not tell four f32 from four i32.
  struct Envelope {
    int64_t count = 0;
    int64_t dtype = 0;
    bool operator==(const Envelope&) const = default;
    std::string text() const { return message("{} of {}", count, static_cast<DType>(dtype)); }
  };
  static Envelope envelope_of(const ConstBuffer& buffer) { return {buffer.count, static_cast<int64_t>(buffer.dtype)}; }

  // A message on its way, whose errors name the call.
  class Message final : public Work::Pending {
   public:
    Message(P2pCommunicator& owner, const Call& call) : owner_(owner), call_(call), sent_(envelope_of(call.in)) {
      const std::array<Outgoing, 2> out{{{call.peer, std::as_bytes(std::span(&sent_, 1))}, {call.peer, bytes_of(call.in)}}};
      const std::array<Incoming, 2> in{
          {{source(), std::as_writable_bytes(std::span(&got_, 1))}, {source(), bytes_of(call.out)}}};
      work_ = owner.net_->start_transfer({out.data(), sends() ? out.size() : 0}, {in.data(), receives() ? in.size() : 0},
                                         PointToPoint::kCollectiveTag + 1 + call.tag);
    }
    bool done() override { return work_.done(); }
    void wait() override {
      try {
        work_.wait();
        if (receives() && got_ != envelope_of(call_.out)) {
          refuse();
        }
      } catch (const CommError& error) {
        throw owner_.during(call_, error);
      }
    }

   private:
    bool sends() const { return call_.operation != Operation::Recv; }
    bool receives() const { return call_.operation != Operation::Send; }
    int source() const { return call_.operation == Operation::Exchange ? call_.source : call_.peer; }
    void refuse() {
      owner_.refused_ =
          CommError({.rank = owner_.rank(), .size = owner_.size(), .peer = source()},
                    message("a message must have the count and dtype that its receiver expects, got {} from rank {} "
                            "where {} are expected",
                            got_.text(), source(), envelope_of(call_.out).text()));
      throw *owner_.refused_;
    }

    P2pCommunicator& owner_;
    Call call_;
    Envelope sent_, got_{};
    Work work_{};
  };

  std::unique_ptr<Communicator> do_split(int color, int key) override {
    std::unique_ptr<PointToPoint> part = net_->split(color, key);
    return part == nullptr ? nullptr : make_p2p(std::move(part), name_, algorithms_, message("{}/{}", group(), color));
  }

  std::unique_ptr<PointToPoint> net_;
  std::string name_;
  Algorithms algorithms_;
  Hosts hosts_;
  uint64_t group_hash_;
  std::optional<CommError> refused_{};  // a message: who does not wait for it is told by the next call
};

}  // namespace

std::unique_ptr<Communicator> make_p2p(std::unique_ptr<PointToPoint> net, std::string name, Algorithms algorithms,
                                       std::string group, Hosts hosts) {
  return std::make_unique<P2pCommunicator>(std::move(net), std::move(name), algorithms, std::move(group), std::move(hosts));
}

Hosts make_hosts(PointToPoint& net, const HostMap& map, const std::string& name, const Algorithms& algorithms,
                 const std::function<std::unique_ptr<Communicator>(std::unique_ptr<Communicator>)>& inside) {
  const int r = net.rank(), host = map.host_of[static_cast<size_t>(r)], index = map.index(r);
  std::unique_ptr<PointToPoint> here = net.split(host, r);
  std::unique_ptr<PointToPoint> there = net.split(net.size() + index, r);  // no color twice: it names the group
  return {.inside = inside(make_p2p(std::move(here), name, algorithms, message("world/host {}", host))),
          .across = make_p2p(std::move(there), name, algorithms, message("world/index {}", index)),
          .in_blocks = map.in_blocks()};
}

}  // namespace ringlet
