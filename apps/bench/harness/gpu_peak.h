// What a GPU can do at most, by its data sheet: the measure that a share is taken of.
#pragma once

#include "tensor/base/dtype.h"

namespace ringlet {

/// An H200 SXM (NVIDIA's data sheet, 2024), without sparsity. An H100 SXM has the same products and 3.35 TB/s.
struct GpuPeak {
  double bytes_per_second = 4.8e12;
  double f32 = 67e12;  // operations per second, a multiply-add counted as two
  double tf32 = 494.7e12;
  double bf16 = 989.4e12;

  double products(DType dtype, bool tf32_allowed) const { return dtype == DType::BF16 ? bf16 : tf32_allowed ? tf32 : f32; }
};

}  // namespace ringlet
