// Time as the tensors of the calling thread see it.
#pragma once

#include <chrono>
#include <memory>

#include "tensor/base/gpu.h"

namespace ringlet {

/// On the CPU now; on a GPU, where the calling thread's tensors lie on one, when all is done there that it has asked for so far.
class Moment {
 public:
  Moment();
  /// Waits for the device.
  double seconds_since(const Moment& earlier) const;

 private:
  std::chrono::steady_clock::time_point host_;
  std::shared_ptr<const DeviceMoment> device_;  // null on the CPU
};

/// Until all is done that the calling thread has asked for; on the CPU it is.
void wait_for_device();

}  // namespace ringlet
