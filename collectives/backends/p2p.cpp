#include "collectives/backends/p2p.h"

#include <algorithm>
#include <limits>
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
  const CommError* failure() const override { return failure_ ? &*failure_ : nullptr; }

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
    if (failure_) {
      throw *failure_;
    }
  }

  // What a message is of goes before it, in order. The elements themselves carry that in their tag: elements of which there are more
  // than the receiver has room for, or of another dtype, find no receive and are never written. (MPI refuses what is too long only after
  // having written it, where it copies between processes.)
  struct Envelope {
    int64_t count = 0;
    int64_t dtype = 0;
    int64_t tag = 0;
    bool operator==(const Envelope&) const = default;
    std::string text() const { return message("{} of {}", count, static_cast<DType>(dtype)); }
    int tag_of_elements() const {
      constexpr uint64_t kTags = std::numeric_limits<int>::max() - PointToPoint::kHashedTags;
      return PointToPoint::kHashedTags + static_cast<int>(hash_bytes(std::as_bytes(std::span(this, 1))) % kTags);
    }
  };
  static Envelope envelope_of(const ConstBuffer& buffer, int tag) {
    return {buffer.count, static_cast<int64_t>(buffer.dtype), tag};
  }

  // A message on its way, whose errors name the call.
  class Message final : public Work::Pending {
   public:
    Message(P2pCommunicator& owner, const Call& call)
        : owner_(owner), call_(call), sent_(envelope_of(call.in, call.tag)), expected_(envelope_of(call.out, call.tag)) {
      const int tag = PointToPoint::kCollectiveTag + 1 + call.tag;
      const Outgoing envelope{call.peer, std::as_bytes(std::span(&sent_, 1))}, out{call.peer, bytes_of(call.in)};
      const Incoming answer{source(), std::as_writable_bytes(std::span(&got_, 1))}, in{source(), bytes_of(call.out)};
      const size_t sends = call.operation == Operation::Recv ? 0 : 1, receives = call.operation == Operation::Send ? 0 : 1;
      envelopes_ = owner.net_->start_transfer({&envelope, sends}, {&answer, receives}, tag);
      if (sends > 0 && receives > 0 && sent_ != expected_) {  // of an exchange each has its own
        elements_ = owner.net_->start_transfer({&out, 1}, {}, sent_.tag_of_elements());
        received_ = owner.net_->start_transfer({}, {&in, 1}, expected_.tag_of_elements());
      } else {
        elements_ =
            owner.net_->start_transfer({&out, sends}, {&in, receives}, (sends > 0 ? sent_ : expected_).tag_of_elements());
      }
    }
    bool done() override { return envelopes_.done() && (refused() || (elements_.done() && received_.done())); }
    void wait() override {
      try {
        envelopes_.wait();
        if (refused()) {
          owner_.net_->give_up(source(),
                               message("a message must have the count and dtype that its receiver expects, got {} from rank "
                                       "{} where {} are expected",
                                       got_.text(), source(), expected_.text()));
        }
        received_.wait();
        elements_.wait();
      } catch (const CommError& error) {
        elements_.abandon();  // they would be waited for as long again
        received_.abandon();
        owner_.failure_ = owner_.during(call_, error);
        throw *owner_.failure_;
      }
    }

   private:
    int source() const { return call_.operation == Operation::Exchange ? call_.source : call_.peer; }
    bool refused() const { return call_.operation != Operation::Send && got_ != expected_; }

    P2pCommunicator& owner_;
    Call call_;
    Envelope sent_, expected_, got_{};
    Work envelopes_{}, elements_{}, received_{};
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
  std::optional<CommError> failure_{};  // of a message: who has not waited for it is told by the next call
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
