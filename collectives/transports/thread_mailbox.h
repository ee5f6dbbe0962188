// Ranks are threads of one process; a message is one copy, made by the receiver straight from the sender's memory.
//
// Every rank has a mailbox: letters that wait for their receive, and receives that wait for their letter, matched in the order
// posted. A send waits until its letter has been read (there is no buffering to hide a deadlock behind). Waits sleep.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// What the ranks share. Keep it alive through a shared_ptr; each rank holds one too.
class MailboxHub : public std::enable_shared_from_this<MailboxHub> {
 public:
  /// A rank that waits longer than `deadline` throws a CommError that names rank and peer.
  MailboxHub(int ranks, std::chrono::milliseconds deadline);
  ~MailboxHub();
  MailboxHub(const MailboxHub&) = delete;
  MailboxHub& operator=(const MailboxHub&) = delete;

  /// The transport of `rank`, for its thread.
  std::unique_ptr<PointToPoint> join(int rank);

  /// `rank` is done, or failed if there is a `reason`. Who waits for a rank that is done, or for anybody once one has failed,
  /// gets a CommError at once.
  void leave(int rank, const std::string& reason);
  /// The rank that failed first, -1 if none did.
  int first_failed() const;

  struct State;  // thread_mailbox.cpp

 private:
  std::unique_ptr<State> state_;
};

}  // namespace ringlet
