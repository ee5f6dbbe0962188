// The kernels of a GPU that memory bounds: each with a formula for the bytes that it must move, whoever writes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "apps/bench/gpu_bench/gpt_shapes.h"

namespace ringlet {

struct MemoryRow {
  std::string kernel;
  std::string dtype;  // "f32", "bf16"
  std::string
      formula;    // of the bytes, in the letters of GptShapes; e: bytes of a number, U: distinct ids. Without single numbers
  int64_t bytes;  // what it gives: every input read once, every output written once
  /// A call on memory of its own.
  std::function<std::function<void()>()> make;
};

/// Of LayerNorm, GELU, cross-entropy, embedding, dropout, sums and casts, in f32 and bf16. On the GPU of the calling thread's tensors.
std::vector<MemoryRow> activation_rows(const GptShapes& shapes);
/// Of what walks over all parameters or gradients: AdamW, the sum of squares, the clipped mean.
std::vector<MemoryRow> parameter_rows(const GptShapes& shapes);
/// Device to device, by the driver: the measure for all others. `bytes`: read, and as many written.
MemoryRow copy_row(int64_t bytes);

}  // namespace ringlet
