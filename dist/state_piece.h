// What a checkpoint holds, seen from one rank: a range of a logical tensor.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor.h"

namespace ringlet {

/// Elements [begin, begin + data.numel()) of the flattened logical tensor `name`, in memory shared with its owner. Every rank
/// lists every logical tensor, with an empty range where it holds none, so that each alone can tell a foreign checkpoint.
struct StatePiece {
  std::string name;  // "h.0.mlp.c_fc.weight"
  std::string kind;  // "master": a trainable parameter in full precision; "exp_avg", …: the optimizer's; "frozen"; "buffer"
  Shape full_shape;
  int64_t begin = 0;
  Tensor data;  // [n], contiguous
};

}  // namespace ringlet
