// Where tests make their tensors: on the CPU, or with RINGLET_TEST_DEVICE=cuda on GPU 0.
#pragma once

#include <cstdlib>
#include <memory>
#include <string_view>

#include "tensor/base/allocator.h"
#include "tensor/base/gpu.h"

namespace ringlet::test {

inline bool wants_gpu() {
  const char* device = std::getenv("RINGLET_TEST_DEVICE");
  return device != nullptr && std::string_view(device) == "cuda";
}

/// For the calling thread, while it lives; null on the CPU.
inline std::unique_ptr<AllocatorScope> on_test_device() {
  return wants_gpu() ? std::make_unique<AllocatorScope>(std::make_shared<Allocator>(gpu().memory(0))) : nullptr;
}

}  // namespace ringlet::test
