// Where a rank computes: on the CPU, or on a GPU of its host.
#pragma once

#include <memory>
#include <string>

#include "collectives/communicator.h"
#include "tensor/base/allocator.h"

namespace ringlet {

/// While it lives, the tensors that the calling thread makes lie there.
class RankDevice {
 public:
  /// (all) `name` is "cpu" or "cuda": rank i of a host takes its GPU i modulo the number of GPUs. AgreedFailure with
  /// ExitCode::Unavailable, on all ranks, where one has no GPU.
  RankDevice(const std::string& name, Communicator& world);
  /// For a process alone: "cuda" is GPU 0. DeviceUnavailable where there is none.
  explicit RankDevice(const std::string& name);

 private:
  void take(int index);
  std::unique_ptr<AllocatorScope> scope_;
};

/// Lets products of f32 round their factors to TF32 (Gpu::allow_tf32), where the flag asks for it.
void allow_tf32_if(bool asked);

/// "cpu", or "cuda:0, NVIDIA H200, …": where the tensors of the calling thread lie.
std::string device_text();

/// `inner`, which carries host memory, made to carry the memory of the calling thread's device too.
std::unique_ptr<Communicator> carrying_device_memory(std::unique_ptr<Communicator> inner);

}  // namespace ringlet
