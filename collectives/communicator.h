// A group of ranks, and what each collective means. How it is done is the business of backends/, transports/ and algorithms/.
//
// Cost, with P ranks, N elements, α the latency of a message and β the time of one element on the wire (default algorithms,
// bytes that one rank sends):
//   broadcast        ⌈log2 P⌉·(α + N·β)            all_gather        α + (P−1)·n·β     (n = the shard)
//   reduce_scatter   α + (P−1)·n·β                 all_reduce        2α + 2N·(P−1)/P·β; small: one or log2 P rounds of N
//   barrier          ⌈log2 P⌉·α
//
// The same on every backend:
// · Collectives are called by all ranks of the group in the same order, with the same count, dtype, op and root.
// · A float reduction adds in order T over the rank index (reduce.h): same inputs, same bits, whatever backend, size or algorithm.
// · Buffers are host or device memory as the backend takes it, contiguous, borrowed until the call (or `Work::wait`) returns.
// · In place means exactly the same memory; a partial overlap of input and output is an `Error`. Out of place leaves the input as it was.
// · Zero elements are a no-op that may have null data; one rank is the identity for every operation.
// · The caller's mistakes (root out of range, counts that do not fit, unsupported pairs) throw `Error` before anything moves;
//   a peer that is lost or disagrees throws `CommError`.
// · A communicator belongs to one thread at a time, and its memory comes from the allocator current where it was made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/buffer.h"
#include "collectives/call.h"
#include "collectives/error.h"
#include "collectives/reduce_op.h"
#include "collectives/work.h"

namespace ringlet {

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The backend, as `make_world` knows it: "local", "mpi"; "threads" when ranks are threads.
  virtual std::string_view name() const = 0;
  /// What carries the bytes: "none", "messages", "mailbox", "shm".
  virtual std::string_view transport() const = 0;
  /// "world", or for a part of it "world/COLOR".
  const std::string& group() const { return group_; }

  /// data on every rank = data on `root`.
  void broadcast(Buffer data, int root);

  /// out on `root` = reduction of `in` over ranks. `out` is ignored elsewhere.
  void reduce(ConstBuffer in, Buffer out, ReduceOp op, int root);

  /// data (or out) on every rank = reduction of data (or in) over ranks.
  void all_reduce(Buffer data, ReduceOp op);
  void all_reduce(ConstBuffer in, Buffer out, ReduceOp op);

  /// full = shard of rank 0, shard of rank 1, …    full.count == P · shard.count
  /// In place: shard is full[r·n, (r+1)·n).
  void all_gather(ConstBuffer shard, Buffer full);

  /// shard = piece r of the reduction of full over ranks.    full.count == P · shard.count
  /// In place: shard is full[r·n, (r+1)·n); the other pieces are then unspecified.
  void reduce_scatter(ConstBuffer full, Buffer shard, ReduceOp op);

  /// Returns when every rank has called it.
  void barrier();

  /// A message to another rank; meets the `recv` with the same tag (0 … 32,000), in the order sent. May wait for that `recv`.
  /// A `recv` of another size is a CommError on the receiver.
  void send(ConstBuffer data, int dest, int tag = 0);
  void recv(Buffer data, int source, int tag = 0);

  /// The same, but the call may return before the operation is done. All ranks start collectives in the same order.
  Work start_broadcast(Buffer data, int root);
  Work start_reduce(ConstBuffer in, Buffer out, ReduceOp op, int root);
  Work start_all_reduce(Buffer data, ReduceOp op);
  Work start_all_reduce(ConstBuffer in, Buffer out, ReduceOp op);
  Work start_all_gather(ConstBuffer shard, Buffer full);
  Work start_reduce_scatter(ConstBuffer full, Buffer shard, ReduceOp op);
  Work start_send(ConstBuffer data, int dest, int tag = 0);
  Work start_recv(Buffer data, int source, int tag = 0);

  /// Called by all ranks: those of one `color` form a new group, ordered by (key, rank here). A negative color joins none
  /// and gets nullptr. The new communicator may outlive this one.
  std::unique_ptr<Communicator> split(int color, int key);

  /// For decorators: the collectives so far.
  uint64_t sequence() const { return sequence_; }

  // What a backend implements. A `Call` that arrives here has been checked, and holds at least one element unless it is a
  // barrier or a message.
  virtual void run(const Call& call) = 0;
  virtual Work start(const Call& call) {
    run(call);
    return {};
  }

 protected:
  Communicator(int rank, int size, std::string group);
  /// `error` as seen from `call` of this group.
  CommError during(const Call& call, const CommError& error) const;

 private:
  virtual std::unique_ptr<Communicator> do_split(int color, int key) = 0;

  Call numbered(Call call);
  void finish(Call call);
  Work begin(Call call);

  int rank_;
  int size_;
  std::string group_;
  uint64_t sequence_ = 0;  // collectives
  uint64_t messages_ = 0;  // sends and receives
};

}  // namespace ringlet
