// A deadline for the start of a job. Inside MPI_Init nothing can be asked of MPI, so a thread beside it keeps the time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ringlet {

/// Calls `late` on a thread of its own unless it is destroyed within `deadline`.
class StartWatch {
 public:
  StartWatch(std::chrono::milliseconds deadline, std::function<void()> late)
      : thread_([this, deadline, late = std::move(late)] {
          std::unique_lock lock(mutex_);
          if (!news_.wait_for(lock, deadline, [this] { return started_; })) {
            late();
          }
        }) {}
  ~StartWatch() {
    {
      const std::lock_guard lock(mutex_);
      started_ = true;
    }
    news_.notify_one();
    thread_.join();
  }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable news_;
  bool started_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace ringlet
