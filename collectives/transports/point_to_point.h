// Messages between the ranks of a group: all that an algorithm needs to know of a wire.
//
// A transport implements one verb, `transfer`: send these, receive those, return when all of it is done. It must make progress
// on all of them at once, so that no order of peers can deadlock. Messages between two ranks arrive in the order sent. The
// receiver knows each size; another size is a CommError, never a silent wrong tail.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "collectives/call_site.h"
#include "collectives/fingerprint.h"
#include "collectives/moved.h"
#include "collectives/scratch.h"
#include "collectives/work.h"
#include "tensor/base/allocator.h"

namespace ringlet {

struct Outgoing {
  int peer;
  std::span<const std::byte> bytes;  // may be empty: an empty message is still a message
};
struct Incoming {
  int peer;
  std::span<std::byte> bytes;
};

class PointToPoint {
 public:
  /// Tags of messages between algorithms; the user's own are apart from them, below kHashedTags. From there on tags are hashes, which a
  /// transport with fewer tags folds.
  static constexpr int kCollectiveTag = 0;
  static constexpr int kHashedTags = 32'002;

  virtual ~PointToPoint() = default;
  PointToPoint(const PointToPoint&) = delete;
  PointToPoint& operator=(const PointToPoint&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// "mailbox", "messages".
  virtual std::string_view name() const = 0;
  /// Messages that `transfer` and `start_transfer` have sent, as their callers see them.
  const Moved& sent() const { return sent_; }

  /// What this rank does from here on, called at `site`, and that it is done. The transport compares it with what the others announce before
  /// it hands out what they sent; a difference, a rank that has left and a deadline are one CommError on all (standing.h).
  virtual void announce(const Fingerprint& call, const SiteText& site) = 0;
  virtual void conclude() = 0;

  // [snippet: transfer]
  /// Sends and receives all at once. Throws CommError when a peer is lost or sends another size than expected.
  virtual void transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag = kCollectiveTag) = 0;
  // [/snippet]

  /// The same, but returns at once.
  virtual Work start_transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) = 0;

  /// The caller cannot go on with a message, because of `peer`: no call of this group can be completed any more. Tells everybody, and throws
  /// what that comes to.
  [[noreturn]] virtual void give_up(int peer, const std::string& complaint) = 0;

  /// Communicator::look_after_peers.
  virtual void look_after_peers() {}

  /// Communicator::split.
  virtual std::unique_ptr<PointToPoint> split(int color, int key) = 0;

  template <typename T>
  void send(int to, std::span<const T> data) {
    const Outgoing out{to, std::as_bytes(data)};
    transfer({&out, 1}, {});
  }
  template <typename T>
  void recv(int from, std::span<T> data) {
    const Incoming in{from, std::as_writable_bytes(data)};
    transfer({}, {&in, 1});
  }
  // [snippet: exchange]
  template <typename T>
  void exchange(int to, std::span<const std::type_identity_t<T>> out, int from, std::span<T> in) {
    const Outgoing outgoing{to, std::as_bytes(out)};
    const Incoming incoming{from, std::as_writable_bytes(in)};
    transfer({&outgoing, 1}, {&incoming, 1});
  }
  // [/snippet]

  /// n elements of reused memory, for the length of a call.
  template <typename T>
  Scratch<T> scratch(size_t n) const {
    return Scratch<T>(allocator_, n);
  }

 protected:
  PointToPoint(int rank, int size, std::shared_ptr<Allocator> allocator = Allocator::on(Device{}))
      : rank_(rank), size_(size), allocator_(std::move(allocator)) {}

  void count(std::span<const Outgoing> out) {
    for (const Outgoing& one : out) {
      sent_ += {1, static_cast<int64_t>(one.bytes.size())};
    }
  }

 private:
  int rank_;
  int size_;
  Moved sent_{};
  std::shared_ptr<Allocator> allocator_;
};

}  // namespace ringlet
