#include "collectives/backends/nccl.h"

#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "collectives/backends/nccl_collectives.h"
#include "collectives/backends/staged.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

std::string seconds(std::chrono::milliseconds time) { return message("{} s", 1e-3 * static_cast<double>(time.count())); }

NcclId tell_id(Communicator& host, NcclLibrary& library) {
  NcclId id;
  if (host.rank() == 0) {
    id = library.new_id();
  }
  host.broadcast(Buffer(id.bytes.data(), static_cast<int64_t>(id.bytes.size()), DType::U8), 0);
  return id;
}

// Whoever waits for NCCL itself waits for all ranks to come.
NcclWatch watch_of(const Communicator& host, std::chrono::milliseconds deadline) {
  return [rank = host.rank(), size = host.size(), deadline](std::chrono::nanoseconds waited) {
    if (waited > deadline) {
      throw CommError({.rank = rank, .size = size}, message("NCCL is not ready within the deadline of {}", seconds(deadline)));
    }
  };
}

std::unique_ptr<NcclGroup> join(Communicator& host, NcclLibrary& library, int device, std::chrono::milliseconds deadline,
                                const NcclGroup* whole) {
  try {
    const NcclId id = host.size() > 1 ? tell_id(host, library) : NcclId();
    return library.join(id, host.rank(), host.size(), device, watch_of(host, deadline), whole);
  } catch (const NcclFault& fault) {
    throw CommError({.rank = host.rank(), .size = host.size(), .operation = "start", .group = host.group()}, fault.what());
  }
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::unique_ptr<Communicator> host, std::unique_ptr<NcclGroup> group, NcclLibrary& library, Gpu& gpu,
                   int device, const NcclOptions& options, std::shared_ptr<Staging> staging)
      : Communicator(host->rank(), host->size(), host->group(), host->sequence()),
        host_(std::move(host)),
        library_(library),
        gpu_(gpu),
        device_{Device::Kind::Cuda, device},
        options_(options),
        staging_(std::move(staging)),
        group_(std::move(group)),
        inbox_(*group_, device_),
        watch_(gpu_.watch([this] { look_after_peers(); })) {}
  ~NcclCommunicator() override {
    if (std::uncaught_exceptions() > exceptions_) {
      group_->abort();  // the others hear of it from the host's communicator
    }
  }

  std::string_view name() const override { return "nccl"; }
  std::string_view transport() const override { return "nccl"; }
  std::shared_ptr<Arena> arena() const override { return host_->arena(); }
  int64_t held_bytes() const override { return host_->held_bytes(); }
  const CommError* failure() const override { return failure_ ? &*failure_ : host_->failure(); }
  int64_t scratch_bytes(const Call& call) const override {
    return call.device().kind == Device::Kind::Cpu ? host_->scratch_bytes(call) : inbox_bytes(call, size(), options_.order);
  }

  void look_after_peers() override {
    look();
    try {
      host_->look_after_peers();
    } catch (const CommError& error) {
      give_up(error);
    }
  }

  void run(const Call& call) override {
    look();
    if (call.device().kind == Device::Kind::Cpu) {
      return host_->run(call);
    }
    is_collective(call.operation) ? queue(call)->hold_caller() : staging_->run(*host_, call);
  }
  Work start(const Call& call) override {
    look();
    if (call.device().kind == Device::Kind::Cpu) {
      return host_->start(call);
    }
    if (!is_collective(call.operation)) {
      return staging_->start(*host_, call);
    }
    return Work(std::make_unique<Queued>(*this, call, queue(call)));
  }

  std::unique_ptr<Communicator> do_split(int color, int key) override {
    std::unique_ptr<Communicator> part = host_->do_split(color, key);
    if (part == nullptr) {
      return nullptr;
    }
    std::unique_ptr<NcclGroup> group = join(*part, library_, device_.index, options_.deadline, group_.get());
    return std::make_unique<NcclCommunicator>(std::move(part), std::move(group), library_, gpu_, device_.index, options_,
                                              staging_);
  }

 private:
  using Point = NcclGroup::Point;

  struct UnderWay {
    std::shared_ptr<Point> end;
    Operation operation;
    uint64_t sequence;
    Clock::time_point since;
  };

  class Queued final : public Work::Pending {
   public:
    Queued(NcclCommunicator& owner, const Call& call, std::shared_ptr<Point> end)
        : owner_(owner), call_(call), end_(std::move(end)) {}
    bool done() override { return end_->reached(); }
    void wait() override {
      end_->hold_caller();
      try {
        owner_.look();
      } catch (const CommError& error) {
        throw owner_.during(call_, error);
      }
    }

   private:
    NcclCommunicator& owner_;
    Call call_;
    std::shared_ptr<Point> end_;
  };

  std::shared_ptr<Point> queue(const Call& call) {
    for (const Device device : {call.in.device, call.out.device}) {
      check(device == device_, "{}: this rank's buffers are on {}, got {}", call.operation, device_, device);
    }
    try {
      agree(call);
      group_->follow_caller();
      queue_collective(*group_, inbox_, call, rank(), size(), options_.order);
      std::shared_ptr<Point> end = group_->point();
      under_way_.push_back({end, call.operation, call.sequence, Clock::now()});
      return end;
    } catch (const NcclFault& fault) {
      give_up(fault.what());
    } catch (const CommError& error) {
      give_up(error);
    }
  }

  // All ranks make this call now, or all hear who does not.
  void agree(const Call& call) {
    if (!options_.compare_calls) {
      return;
    }
    if (call.operation == Operation::AllToAllV) {
      return agree_on_parts(call);
    }
    host_->run({.operation = Operation::Barrier, .sequence = call.sequence, .site = call.site, .stands_for = &call});
  }
  // What rank i says it sends to rank j is what rank j expects of it.
  void agree_on_parts(const Call& call) {
    const auto P = static_cast<size_t>(size());
    std::vector<int64_t> mine(call.counts.begin(), call.counts.end()), all(2 * P * P);
    mine.insert(mine.end(), call.source_counts.begin(), call.source_counts.end());
    host_->run({.operation = Operation::AllGather,
                .in = mine,
                .out = Buffer(all),
                .sequence = call.sequence,
                .site = call.site,
                .stands_for = &call});
    require_matching_parts(all, rank(), size());
  }

  // Cheap, and never waits: what is known by now of what is under way.
  void look() {
    if (failure() != nullptr) {
      throw CommError(*failure());
    }
    while (!under_way_.empty() && under_way_.front().end->reached()) {
      under_way_.pop_front();
    }
    if (const std::string trouble = group_->trouble(); !trouble.empty()) {
      give_up(trouble);
    }
    if (!under_way_.empty() && Clock::now() - under_way_.front().since > options_.deadline) {
      give_up(message("no end within the deadline of {}", seconds(options_.deadline)));
    }
  }

  [[noreturn]] void give_up(const std::string& reason) {
    const bool any = !under_way_.empty();
    give_up(CommError({.rank = rank(), .size = size()}, any ? message("{}, and {} #{} is under way", reason,
                                                                      under_way_.front().operation, under_way_.front().sequence)
                                                            : reason));
  }
  // Where the caller is in no call of its own, the error is of the one that is under way.
  [[noreturn]] void give_up(const CommError& error) {
    CommError::Where where = error.where();
    if (where.operation.empty() && !under_way_.empty()) {
      where.operation = name_of(under_way_.front().operation);
      where.sequence = under_way_.front().sequence;
      where.group = group();
    }
    group_->abort();
    under_way_.clear();
    failure_.emplace(where, error.reason());
    throw CommError(*failure_);
  }

  std::unique_ptr<Communicator> host_;
  NcclLibrary& library_;
  Gpu& gpu_;
  Device device_;
  NcclOptions options_;
  std::shared_ptr<Staging> staging_;
  std::unique_ptr<NcclGroup> group_;
  NcclInbox inbox_;  // ends before the group that orders its uses
  std::deque<UnderWay> under_way_{};
  std::optional<CommError> failure_{};  // what has ended NCCL's communicator
  int exceptions_ = std::uncaught_exceptions();
  std::shared_ptr<void> watch_;  // of this thread's waits for the GPU
};

}  // namespace

std::unique_ptr<Communicator> make_nccl(std::unique_ptr<Communicator> host, NcclLibrary& library, Gpu& gpu, int device,
                                        const NcclOptions& options) {
  gpu.use(device);
  std::unique_ptr<NcclGroup> group = join(*host, library, device, options.deadline, nullptr);
  return std::make_unique<NcclCommunicator>(std::move(host), std::move(group), library, gpu, device, options,
                                            std::make_shared<Staging>(gpu));
}

}  // namespace ringlet
