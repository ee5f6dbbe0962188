// The other half of a `start_*` call.
#pragma once

#include <memory>
#include <utility>

namespace ringlet {

/// An operation under way, and the loan of its buffers: until `wait` returns, outputs may not be read nor inputs written. Of device
/// memory, by what is queued on the caller's stream; `wait` does not make the host wait for the device then.
/// The destructor waits too, but has no way to report an error: call `wait` to hear of one. Not to outlive its communicator.
class [[nodiscard]] Work {
 public:
  /// What a backend has to provide.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;  // throws CommError
    virtual bool done() = 0;  // without waiting
  };

  /// An operation that is finished already.
  Work() = default;
  explicit Work(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
  Work(Work&&) noexcept = default;
  Work& operator=(Work&& other) noexcept {
    if (this != &other) {
      finish_quietly();
      pending_ = std::move(other.pending_);
    }
    return *this;
  }
  ~Work() { finish_quietly(); }

  /// Returns when the buffers are the caller's again. A second call returns at once.
  void wait() {
    if (const std::unique_ptr<Pending> pending = std::move(pending_)) {
      pending->wait();
    }
  }
  /// Lets go of an operation that will never be done, without waiting; what it has not written yet, it does not write.
  void abandon() { pending_.reset(); }
  bool done() const { return pending_ == nullptr || pending_->done(); }

 private:
  void finish_quietly() noexcept {
    try {
      wait();
    } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor cannot report; the next call on the communicator will
    }
  }
  std::unique_ptr<Pending> pending_;
};

}  // namespace ringlet
