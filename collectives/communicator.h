// A group of ranks, and what each collective means. How it is done is the business of backends/, transports/ and algorithms/.
//
// Cost, with P ranks, N elements, α the latency of a message and β the time of one element on the wire (default algorithms,
// bytes that one rank sends):
//   broadcast        ⌈log2 P⌉·(α + N·β)            all_gather        α + (P−1)·n·β     (n = the shard)
//   reduce_scatter   α + (P−1)·n·β                 all_reduce        2N·(P−1)/P·β; small: one or log2 P rounds of N
//   gather, scatter  ⌈log2 P⌉·α + (P−1)·n·β        all_to_all        (P−1)·α + (P−1)·n·β
//   barrier          ⌈log2 P⌉·α                    V forms           as the even ones, a large part is n
//                                                  all_to_all_v      and before it a table of all counts, 16·P bytes of each rank
//
// The same on every backend:
// · Collectives are called by all ranks of the group in the same order, with the same count, dtype, op and root.
// · A float reduction adds in order T over the rank index (reduce.h): same inputs, same bits, whatever backend, transport or size.
//   Over messages one can ask for less: an algorithm by name, or ReductionOrder::Any (algorithms/select.h).
// · Buffers are host or device memory as the backend takes it, contiguous, borrowed until the call (or `Work::wait`) returns.
// · On device memory a call happens in the order of the caller's stream: after what that has been given before, and before what it is
//   given once the call (or `Work::wait`) has returned. The results may be used on the device then; the host synchronises first.
// · In place means exactly the same memory; a partial overlap of input and output is an `Error`. Out of place leaves the input as it was.
// · Zero elements are a no-op that may have null data; one rank is the identity for every operation but a scaled sum.
// · The caller's mistakes (root out of range, counts that do not fit, unsupported pairs) throw `Error` before anything moves;
//   a peer that is lost or disagrees throws `CommError`.
// · A communicator belongs to one thread at a time, and its memory comes from the allocator current where it was made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/buffer.h"
#include "collectives/call.h"
#include "collectives/error.h"
#include "collectives/moved.h"
#include "collectives/reduce_op.h"
#include "collectives/work.h"
#include "tensor/base/allocator.h"
#include "tensor/base/arena.h"

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
  /// How the transport works on this machine, for `--info`; empty where there is nothing to say.
  virtual std::string transport_details() const { return {}; }
  /// "world", or for a part of it "world/COLOR".
  const std::string& group() const { return group_; }
  /// What the transport has sent or copied for this rank so far; nothing where it cannot tell.
  virtual std::optional<Moved> moved() const { return std::nullopt; }
  /// Bytes of host memory that the transport holds for this rank as long as this lives.
  virtual int64_t held_bytes() const { return 0; }
  /// Bytes of Category::Communication that `call`, whose data are not looked at (formula_call), takes meanwhile on this rank in the memory
  /// that its data are in: the formula, to stand beside what the allocator counts. Of reductions and all_gathers.
  virtual int64_t scratch_bytes(const Call& call) const {
    (void)call;
    return 0;
  }
  /// Where to make buffers that move without being copied into and out of the transport: memory that the ranks of a host share,
  /// WorldOptions::arena_bytes of it; ordinary memory where there is none. Outlives the communicator, not MPI.
  virtual std::shared_ptr<Arena> arena() const { return system_arena(); }

  // Every verb ends with where it is called, which is told when ranks disagree: leave it out.

  /// data on every rank = data on `root`.
  void broadcast(Buffer data, int root, CallSite site = CallSite::here());

  /// out on `root` = reduction of `in` over ranks. `out` is ignored elsewhere.
  void reduce(ConstBuffer in, Buffer out, Reduction op, int root, CallSite site = CallSite::here());

  /// data (or out) on every rank = reduction of data (or in) over ranks.
  void all_reduce(Buffer data, Reduction op, CallSite site = CallSite::here());
  void all_reduce(ConstBuffer in, Buffer out, Reduction op, CallSite site = CallSite::here());
  /// The same for many buffers of one dtype, in place, as one call and at the price of one: they are packed, and unpacked.
  void all_reduce(std::span<const Buffer> buffers, Reduction op, CallSite site = CallSite::here());

  /// full = shard of rank 0, shard of rank 1, …    full.count == P · shard.count
  /// In place: shard is full[r·n, (r+1)·n).
  void all_gather(ConstBuffer shard, Buffer full, CallSite site = CallSite::here());

  /// shard = piece r of the reduction of full over ranks.    full.count == P · shard.count
  /// In place: shard is full[r·n, (r+1)·n); the other pieces are then unspecified.
  void reduce_scatter(ConstBuffer full, Buffer shard, Reduction op, CallSite site = CallSite::here());

  /// all_gather to `root` alone. `full` is ignored elsewhere.
  void gather(ConstBuffer shard, Buffer full, int root, CallSite site = CallSite::here());

  /// shard = piece r of full on `root`. `full` is ignored elsewhere.    full.count == P · shard.count
  /// In place on the root: shard is its piece of full.
  void scatter(ConstBuffer full, Buffer shard, int root, CallSite site = CallSite::here());

  /// Piece i of out = piece r of rank i's in.    in.count == out.count, a multiple of P. In place: in is out.
  void all_to_all(ConstBuffer in, Buffer out, CallSite site = CallSite::here());

  /// The same with parts of any size, also none: counts[i] elements belong to rank i; counts are the same on all ranks, and add
  /// up to `full`. In place: shard is its part of full.
  void all_gather_v(ConstBuffer shard, Buffer full, std::span<const int64_t> counts, CallSite site = CallSite::here());
  void reduce_scatter_v(ConstBuffer full, Buffer shard, std::span<const int64_t> counts, Reduction op,
                        CallSite site = CallSite::here());
  void gather_v(ConstBuffer shard, Buffer full, std::span<const int64_t> counts, int root, CallSite site = CallSite::here());
  void scatter_v(ConstBuffer full, Buffer shard, std::span<const int64_t> counts, int root, CallSite site = CallSite::here());
  /// to[i] elements of in go to rank i, from[i] elements of out come from it: to[j] of rank i is from[i] of rank j, else
  /// CommError. Never in place.
  void all_to_all_v(ConstBuffer in, std::span<const int64_t> to, Buffer out, std::span<const int64_t> from,
                    CallSite site = CallSite::here());

  /// Returns when every rank has called it.
  void barrier(CallSite site = CallSite::here());

  /// A message to another rank; meets the `recv` with the same tag (0 … 32,000), in the order sent. May wait for that `recv`.
  /// A `recv` of another count or dtype is a CommError on the receiver, and so is what it calls after it.
  void send(ConstBuffer data, int dest, int tag = 0, CallSite site = CallSite::here());
  void recv(Buffer data, int source, int tag = 0, CallSite site = CallSite::here());
  /// Both at once, so that a ring of ranks cannot wait in a circle. Sizes and dtypes are each message's own.
  void exchange(ConstBuffer out, int dest, Buffer in, int source, int tag = 0, CallSite site = CallSite::here());

  /// The same, but the call may return before the operation is done. All ranks start collectives in the same order. Counts and
  /// lists are borrowed like the buffers. A message waits for the collectives that were started before it; one that was started
  /// may make no progress before its `wait`, so wait for it before a collective that the peer reaches only after the message.
  Work start_broadcast(Buffer data, int root, CallSite site = CallSite::here());
  Work start_reduce(ConstBuffer in, Buffer out, Reduction op, int root, CallSite site = CallSite::here());
  Work start_all_reduce(Buffer data, Reduction op, CallSite site = CallSite::here());
  Work start_all_reduce(ConstBuffer in, Buffer out, Reduction op, CallSite site = CallSite::here());
  Work start_all_reduce(std::span<const Buffer> buffers, Reduction op, CallSite site = CallSite::here());
  Work start_all_gather(ConstBuffer shard, Buffer full, CallSite site = CallSite::here());
  Work start_reduce_scatter(ConstBuffer full, Buffer shard, Reduction op, CallSite site = CallSite::here());
  Work start_gather(ConstBuffer shard, Buffer full, int root, CallSite site = CallSite::here());
  Work start_scatter(ConstBuffer full, Buffer shard, int root, CallSite site = CallSite::here());
  Work start_all_to_all(ConstBuffer in, Buffer out, CallSite site = CallSite::here());
  Work start_all_gather_v(ConstBuffer shard, Buffer full, std::span<const int64_t> counts, CallSite site = CallSite::here());
  Work start_reduce_scatter_v(ConstBuffer full, Buffer shard, std::span<const int64_t> counts, Reduction op,
                              CallSite site = CallSite::here());
  Work start_gather_v(ConstBuffer shard, Buffer full, std::span<const int64_t> counts, int root,
                      CallSite site = CallSite::here());
  Work start_scatter_v(ConstBuffer full, Buffer shard, std::span<const int64_t> counts, int root,
                       CallSite site = CallSite::here());
  Work start_all_to_all_v(ConstBuffer in, std::span<const int64_t> to, Buffer out, std::span<const int64_t> from,
                          CallSite site = CallSite::here());
  Work start_send(ConstBuffer data, int dest, int tag = 0, CallSite site = CallSite::here());
  Work start_recv(Buffer data, int source, int tag = 0, CallSite site = CallSite::here());
  Work start_exchange(ConstBuffer out, int dest, Buffer in, int source, int tag = 0, CallSite site = CallSite::here());

  /// Called by all ranks: those of one `color` form a new group, ordered by (key, rank here). A negative color joins none
  /// and gets nullptr. The new communicator may outlive this one.
  std::unique_ptr<Communicator> split(int color, int key, CallSite site = CallSite::here());

  /// For a rank that waits for something else, its GPU say: throws the CommError of a peer that has failed or died, as far as that is
  /// known. Looks, and does not wait.
  virtual void look_after_peers() {}

  /// Why a message of this rank could not be completed; every later call throws it. Null: none has failed.
  virtual const CommError* failure() const { return nullptr; }

  /// For decorators: the collectives so far.
  uint64_t sequence() const { return sequence_; }

  // What a backend implements. A `Call` that arrives here has been checked, and all ranks together hold at least one
  // element unless it is a barrier, a message or an all_to_all_v.
  virtual void run(const Call& call) = 0;
  virtual Work start(const Call& call) {
    run(call);
    return {};
  }
  virtual std::unique_ptr<Communicator> do_split(int color, int key) = 0;

 protected:
  /// The next collective is number `sequence` + 1: a decorator goes on where the decorated stands.
  Communicator(int rank, int size, std::string group, uint64_t sequence = 0);
  /// `error` as seen from `call` of this group.
  CommError during(const Call& call, const CommError& error) const;

 private:
  friend class ControlScope;

  Call numbered(Call call);
  void finish(Call call);
  Work begin(Call call);

  int rank_;
  int size_;
  std::string group_;
  std::shared_ptr<Allocator> memory_;
  uint64_t sequence_;      // collectives
  uint64_t messages_ = 0;  // sends, receives and exchanges
  bool control_ = false;   // what ControlScope says
};

}  // namespace ringlet
