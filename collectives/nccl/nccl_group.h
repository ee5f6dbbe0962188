// NCCL as ringlet sees it, without a header of NCCL or CUDA: what libringlet_nccl.so offers, and what the emulated one does too.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "collectives/reduce_op.h"

namespace ringlet {

/// A call of NCCL or CUDA has failed, here or (as far as NCCL can tell) on a peer. `what()` names the call and says what NCCL says.
class NcclFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the ranks of a group have in common: made by one of them, told to all.
struct NcclId {
  std::array<std::byte, 128> bytes{};
};

/// Called again and again while something is waited for, with how long so far; may throw, and then the wait ends.
using NcclWatch = std::function<void(std::chrono::nanoseconds waited)>;

/// P inputs of a reduction in device memory: input k is at `others` + k·stride elements, but this rank's own is at `own`.
struct NcclInputs {
  const void* others;
  int64_t stride;
  const void* own;
  int own_rank;
  int ranks;
};

/// A rank's communicator of NCCL, with a stream that is not the caller's. Calls are queued on the stream, in order, and return; all pointers are
/// device memory, all counts elements. All ranks queue the same calls in the same order. Throws NcclFault.
class NcclGroup {
 public:
  /// A place in the stream.
  class Point {
   public:
    virtual ~Point() = default;
    virtual bool reached() = 0;
    /// What the caller's stream does from here on, it does after this.
    virtual void hold_caller() = 0;
  };

  /// Ends NCCL's communicator, after what is under way.
  virtual ~NcclGroup() = default;
  /// What follows happens after all that the caller's stream has been given so far.
  virtual void follow_caller() = 0;
  virtual std::shared_ptr<Point> point() = 0;

  virtual void copy(const void* from, void* to, size_t bytes) = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  virtual void all_gather(const void* shard, void* full, size_t shard_bytes) = 0;
  virtual void all_reduce(const void* in, void* out, int64_t n, DType dtype, Reduction op) = 0;
  virtual void reduce(const void* in, void* out, int64_t n, DType dtype, Reduction op, int root) = 0;
  virtual void reduce_scatter(const void* full, void* shard, int64_t n, DType dtype, Reduction op) = 0;
  /// Messages between `open` and `close` make progress together.
  virtual void open() = 0;
  virtual void send(const void* data, size_t bytes, int peer) = 0;
  virtual void recv(void* data, size_t bytes, int peer) = 0;
  virtual void close() = 0;
  /// out[i] = reduction in order T (collectives/reduce.h) of element i of the inputs, by a kernel of ours. `out` may be one of them.
  virtual void reduce_in_order(const NcclInputs& inputs, void* out, int64_t n, DType dtype, Reduction op) = 0;

  /// What NCCL has noticed by itself since, a peer's connection lost say; empty when nothing.
  virtual std::string trouble() = 0;
  /// The host waits until all is done that has been queued.
  virtual void synchronize() = 0;
  /// Ends what is under way, wherever it stands: its outputs are undefined. Nothing may be queued after it.
  virtual void abort() noexcept = 0;
};

class NcclLibrary {
 public:
  virtual ~NcclLibrary() = default;
  /// "2.28.9".
  virtual std::string version() = 0;
  /// Throws NcclFault where there is no driver.
  virtual int device_count() = 0;
  virtual NcclId new_id() = 0;
  /// Collective over the ranks that have `id`; `watch` sees this wait and those of the group. On the stream of `whole`, of which this
  /// group is a part, if there is one: kernels of NCCL wait for those of other GPUs, so that two groups on two streams could wait for
  /// each other where one stream does them in the order of the program.
  virtual std::unique_ptr<NcclGroup> join(const NcclId& id, int rank, int size, int device, NcclWatch watch,
                                          const NcclGroup* whole) = 0;
};

/// The one function that is looked up by name; the second changes with this interface.
inline constexpr const char* kNcclEntry = "ringlet_nccl_library";
inline constexpr int kNcclInterface = 2;
using NcclEntry = NcclLibrary* (*)(int interface);

}  // namespace ringlet
