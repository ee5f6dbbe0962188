// The products of a training step of GPT-2's 124M parameters, on a GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringlet {

struct GpuProduct {
  std::string dtype;  // "f32", "bf16"
  std::string form;   // "NN" x·W, "NT" dy·Wᵀ, "TN" xᵀ·dy
  int64_t M, N, K;
  double seconds;
  double peak;  // operations per second, of an H200

  double operations() const { return 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K); }
};

/// Of each linear layer the product of its forward and the two of its backward, `tokens` rows; f32 and bf16. Factors and results in turn
/// from memory that the cache has forgotten.
std::vector<GpuProduct> time_gpu_products(int64_t tokens, bool tf32);

}  // namespace ringlet
