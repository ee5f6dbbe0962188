// The products of a GPT's training step, on a GPU.
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

/// A GPT's linear layers, and rows of their inputs.
struct GpuProductSizes {
  int64_t tokens = 16384, width = 768, vocab_size = 50304;
  int64_t rounds = 11;  // of which the median is taken
};

/// Of each linear layer the product of its forward and the two of its backward; f32 and bf16. Factors and results in turn from memory
/// that the cache has forgotten.
std::vector<GpuProduct> time_gpu_products(const GpuProductSizes& sizes, bool tf32);

}  // namespace ringlet
