#include "collectives/communication_thread.h"

#include <utility>

namespace ringlet {

CommunicationThread::~CommunicationThread() {
  drain();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::shared_ptr<CommunicationThread::Job> CommunicationThread::start(std::function<void()> body, bool worth_waking) {
  auto job = std::make_shared<Job>(std::move(body));
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(job);
    called_ |= worth_waking;
  }
  if (worth_waking) {
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { serve(); });
    }
    work_.notify_one();
  }
  return job;
}

void CommunicationThread::finish(const Job& job) {
  std::unique_lock lock(mutex_);
  help_until(lock, [&] { return job.done_; });
  if (job.error_ != nullptr) {
    std::rethrow_exception(job.error_);
  }
}

bool CommunicationThread::done(const Job& job) {
  const std::lock_guard lock(mutex_);
  return job.done_;
}

void CommunicationThread::drain() {
  std::unique_lock lock(mutex_);
  help_until(lock, [&] { return waiting_.empty() && !running_; });
}

bool CommunicationThread::idle() {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !running_;
}

// [snippet: help_until]
void CommunicationThread::help_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& enough) {
  while (!enough()) {
    if (running_) {
      progress_.wait(lock);
    } else {
      run_first(lock);
    }
  }
}
// [/snippet]

void CommunicationThread::run_first(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Job> job = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = true;
  lock.unlock();
  std::exception_ptr error;
  try {
    job->body_();
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  job->error_ = std::move(error);
  job->done_ = true;
  job->body_ = nullptr;
  running_ = false;
  progress_.notify_all();
  if (called_ && !waiting_.empty()) {
    work_.notify_one();  // it may have looked while the rank was running this one
  }
}

void CommunicationThread::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || (called_ && !running_); });
    if (stopping_) {
      return;
    }
    if (waiting_.empty()) {
      called_ = false;
    } else {
      run_first(lock);
    }
  }
}

}  // namespace ringlet
