// One thread per rank that carries out collectives while the rank computes.
//
// Jobs are done one at a time, in the order in which they were started, by whoever has time first: the thread, or the rank itself
// when it comes to wait. So a job that the thread has not begun costs no change of threads, and the transport below is never
// called from two threads at once (MPI_THREAD_SERIALIZED is enough).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace ringlet {

class CommunicationThread {
 public:
  class Job {
   public:
    explicit Job(std::function<void()> body) : body_(std::move(body)) {}

   private:
    friend class CommunicationThread;
    std::function<void()> body_;
    std::exception_ptr error_{};
    bool done_ = false;
  };

  CommunicationThread() = default;
  ~CommunicationThread();  // after what has been started
  CommunicationThread(const CommunicationThread&) = delete;
  CommunicationThread& operator=(const CommunicationThread&) = delete;

  /// `body` will be called once. `worth_waking`: it takes longer than to wake a thread, so it is begun at once; else it may be left
  /// until the next `finish` or `drain`.
  std::shared_ptr<Job> start(std::function<void()> body, bool worth_waking);
  /// Returns when the job is done, and throws what it has thrown. Call it once.
  void finish(const Job& job);
  bool done(const Job& job);
  /// Returns when all jobs are done; their errors stay with them.
  void drain();
  /// Whether nothing is under way or waits.
  bool idle();

 private:
  void serve();
  void run_first(std::unique_lock<std::mutex>& lock);
  void help_until(std::unique_lock<std::mutex>& lock, const std::function<bool()>& enough);

  std::mutex mutex_;
  std::condition_variable work_;      // for the thread
  std::condition_variable progress_;  // for the rank
  std::deque<std::shared_ptr<Job>> waiting_;
  bool running_ = false;
  bool called_ = false;  // the thread is to work until nothing waits
  bool stopping_ = false;
  std::thread thread_;  // from the first job that is worth it
};

}  // namespace ringlet
