#include "apps/training/device_flag.h"

#include "apps/training/failure.h"

namespace ringlet {

std::string chosen_device(const std::string& asked, const std::string& backend) {
  check<UsageError>(backend != "nccl" || asked.empty() || asked == "cuda",
                    "--device: the backend nccl moves the memory of GPUs, got {}; leave --device out, or take --backend mpi",
                    asked);
  return !asked.empty() ? asked : backend == "nccl" ? "cuda" : "cpu";
}

void require_tf32_on_gpu(bool tf32, const std::string& device) {
  check<UsageError>(!tf32 || device == "cuda", "--tf32: is computed on GPUs, got --device {}", device);
}

}  // namespace ringlet
