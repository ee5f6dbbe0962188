// Messages under way over MPI: posted at construction, finished by `wait`.
//
// All receives are posted before the first send, so that what arrives has a place to go. Completion is polled, not waited for: a
// wait needs a deadline, must let another rank have the core, and must hear of the first error while other messages are still
// out. (Open MPI 4.1's MPI_Waitall can spin for ever on a truncated message.) What is long and comes from another host is
// waited for asleep: the kernel's buffers go on filling, and the core is free for a backward that overlaps. (A yield would lose the
// core to that backward for a whole time slice, and hold up the wire.)
//
// What is expected is told from anything else by its tag alone, so MPI hands nothing to a call that it is not for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "collectives/transports/mpi_comm.h"
#include "collectives/transports/mpi_point_to_point.h"

namespace ringlet {

class MpiExchange final : public Work::Pending {
 public:
  /// Called now and then while waiting, with a rank that is waited for; may throw. Returns whether that rank is on another host.
  using Watch = std::function<bool(int)>;

  MpiExchange(const MpiComm& comm, const MpiOptions& options, std::span<const Outgoing> out, std::span<const Incoming> in,
              int tag, Watch watch);
  ~MpiExchange() override;
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  bool done() override;
  void wait() override;  // throws CommError

 private:
  struct Requests;
  struct Message {
    int peer;
    int bytes;
    bool incoming;
  };

  void post_send(int peer, std::span<const std::byte> bytes);
  void post_receive(int peer, std::span<std::byte> bytes);
  void poll();
  [[noreturn]] void refuse(const Message& message, int got) const;
  const Message& first_late() const;
  [[noreturn]] void give_up() const;

  const MpiComm& comm_;
  const MpiOptions& options_;
  int tag_;
  Watch watch_;
  size_t pending_ = 0;
  size_t bytes_ = 0;               // posted
  std::vector<Message> messages_;  // one per request
  std::unique_ptr<Requests> requests_;
};

}  // namespace ringlet
