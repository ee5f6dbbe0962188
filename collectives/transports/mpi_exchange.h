// Messages under way over MPI: posted at construction, finished by `wait`.
//
// All receives are posted before the first send, so that what arrives has a place to go. Completion is polled, not waited for: a
// wait needs a deadline, must let another rank have the core, and must hear of the first error while other messages are still
// out. (Open MPI 4.1's MPI_Waitall can spin for ever on a truncated message.) What is long and comes from another host is
// waited for asleep: the kernel's buffers go on filling, and the core is free for a backward that overlaps. (A yield would lose the
// core to that backward for a whole time slice, and hold up the wire.)
//
// A stamped message opens with its fingerprint: short ones in one message with it, long ones behind it, and those are received
// only when the stamp is right. So nothing is written into anybody's memory that does not belong there.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "collectives/transports/mpi_comm.h"
#include "collectives/transports/mpi_point_to_point.h"

namespace ringlet {

/// Thrown when a message's stamp is another than expected.
struct ForeignStamp {
  int peer;
  Fingerprint call;
};

class MpiExchange final : public Work::Pending {
 public:
  /// The longest message that shares one with its stamp: copying it costs less than a second message.
  static constexpr size_t kPacked = 4096 - 256;
  /// Memory for one stamped message.
  static constexpr size_t kSlot = sizeof(Fingerprint) + kPacked;

  /// Called now and then while waiting, with a rank that is waited for; may throw. Returns whether that rank is on another host.
  using Watch = std::function<bool(int)>;

  /// `slots` holds kSlot bytes for each stamped message.
  MpiExchange(const MpiComm& comm, const MpiOptions& options, std::span<const Outgoing> out, std::span<const Incoming> in,
              int tag, std::span<std::byte> slots, Watch watch);
  ~MpiExchange() override;
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  bool done() override;
  void wait() override;  // throws CommError, ForeignStamp

 private:
  struct Requests;
  struct Message {
    int peer;
    int bytes;
    const Incoming* stamped = nullptr;  // a stamp, for this
    std::byte* slot = nullptr;
    bool incoming = false;
  };

  void send(const Outgoing& one, std::span<std::byte>& slots);
  void send_pieces(int peer, std::span<const std::byte> bytes);
  void receive(const Incoming& one, std::span<std::byte>& slots);
  void receive_pieces(int peer, std::span<std::byte> bytes);
  void post_send(const Message& message, const void* data);
  void post_receive(const Message& message, void* data);
  void poll();
  void arrived(const Message& message, int bytes);
  void open(const Message& message, size_t bytes);
  [[noreturn]] void refuse(int peer, size_t expected, size_t got) const;
  const Message& first_late() const;
  [[noreturn]] void give_up() const;

  const MpiComm& comm_;
  const MpiOptions& options_;
  int tag_;
  Watch watch_;
  size_t pending_ = 0;
  size_t bytes_ = 0;               // posted
  std::vector<Incoming> in_;       // the stamped ones, while their stamp is out
  std::vector<Message> messages_;  // one per request
  std::unique_ptr<Requests> requests_;
};

}  // namespace ringlet
