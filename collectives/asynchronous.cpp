#include "collectives/asynchronous.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/communication_thread.h"

namespace ringlet {
namespace {

constexpr size_t kWorthWaking = size_t{64} << 10;  // bytes

class AsynchronousCommunicator final : public Communicator {
 public:
  AsynchronousCommunicator(std::unique_ptr<Communicator> inner, std::shared_ptr<CommunicationThread> thread)
      : Communicator(inner->rank(), inner->size(), inner->group(), inner->sequence()),
        inner_(std::move(inner)),
        moved_(inner_->moved()),
        thread_(std::move(thread)) {}
  ~AsynchronousCommunicator() override { thread_->drain(); }

  std::string_view name() const override { return inner_->name(); }
  std::string_view transport() const override { return inner_->transport(); }
  std::string transport_details() const override { return inner_->transport_details(); }
  std::shared_ptr<Arena> arena() const override { return inner_->arena(); }
  std::optional<Moved> moved() const override {
    if (thread_->idle()) {
      moved_ = inner_->moved();
    }
    return moved_;
  }
  int64_t held_bytes() const override { return inner_->held_bytes(); }
  const CommError* failure() const override { return inner_->failure(); }
  int64_t scratch_bytes(const Call& call) const override { return inner_->scratch_bytes(call); }

  void look_after_peers() override {
    if (thread_->idle()) {  // else the one who is under way does
      inner_->look_after_peers();
    }
  }
  void run(const Call& call) override {
    thread_->drain();
    inner_->run(call);
  }
  Work start(const Call& call) override {
    if (!is_collective(call.operation)) {
      thread_->drain();
      return Work(std::make_unique<Message>(*this, inner_->start(call)));
    }
    const auto body = [this, call] {
      try {
        inner_->run(call);
      } catch (const CommError& error) {
        throw during(call, error);
      }
    };
    const bool worth_waking = size() > 1 && std::max(call.in.bytes(), call.out.bytes()) >= kWorthWaking;
    return Work(std::make_unique<Started>(thread_, thread_->start(body, worth_waking)));
  }

  std::unique_ptr<Communicator> do_split(int color, int key) override {
    thread_->drain();
    std::unique_ptr<Communicator> part = inner_->do_split(color, key);
    return part == nullptr ? nullptr : std::make_unique<AsynchronousCommunicator>(std::move(part), thread_);
  }

 private:
  class Started final : public Work::Pending {
   public:
    Started(std::shared_ptr<CommunicationThread> thread, std::shared_ptr<CommunicationThread::Job> job)
        : thread_(std::move(thread)), job_(std::move(job)) {}
    void wait() override { thread_->finish(*job_); }
    bool done() override { return thread_->done(*job_); }

   private:
    std::shared_ptr<CommunicationThread> thread_;
    std::shared_ptr<CommunicationThread::Job> job_;
  };

  // A message makes progress when somebody looks after it, and only one thread may look at a time.
  class Message final : public Work::Pending {
   public:
    Message(AsynchronousCommunicator& owner, Work work) : owner_(owner), work_(std::move(work)) {}
    ~Message() override { owner_.thread_->drain(); }
    void wait() override {
      owner_.thread_->drain();
      work_.wait();
    }
    bool done() override { return owner_.thread_->idle() && work_.done(); }

   private:
    AsynchronousCommunicator& owner_;
    Work work_;
  };

  std::unique_ptr<Communicator> inner_;
  mutable std::optional<Moved> moved_;  // as it was told last: while something is under way nobody may look
  std::shared_ptr<CommunicationThread> thread_;
};

}  // namespace

std::unique_ptr<Communicator> make_asynchronous(std::unique_ptr<Communicator> inner) {
  return std::make_unique<AsynchronousCommunicator>(std::move(inner), std::make_shared<CommunicationThread>());
}

}  // namespace ringlet
