// Device memory for a communicator that moves host memory: copied to pinned host memory, moved there, and copied back.
//
// So any number of ranks can share one GPU, which NCCL refuses, and sums keep the order of the communicator inside.
// Cost besides the call on the host: 2N/β of the bus (PCIe 5: about 50 GB/s each way), and one synchronisation of the caller's
// stream per call, because the host has to see what the device has computed.
#pragma once

#include <memory>

#include "collectives/communicator.h"
#include "tensor/base/gpu.h"

namespace ringlet {

/// The host copies of one rank. Memory is pinned, and kept for the next call.
class Staging {
 public:
  explicit Staging(Gpu& gpu);
  /// After the copies that are under way.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// `inner` carries out `call`, whose buffers may be on the device. When the work has been waited for, what the caller's stream does
  /// next sees the results.
  void run(Communicator& inner, const Call& call);
  Work start(Communicator& inner, const Call& call);

 private:
  Gpu& gpu_;
  std::shared_ptr<Allocator> pinned_;
};

/// `inner` and all that is split from it, for host and device memory alike. Means the same in every other respect.
std::unique_ptr<Communicator> make_staged(std::unique_ptr<Communicator> inner, Gpu& gpu);

}  // namespace ringlet
