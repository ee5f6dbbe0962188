// The table of contents of what can be done with tensors. Every op takes and returns contiguous or strided f32 / f64 tensors
// alike, allocates its result from the current allocator, and is slice-invariant: the bits of a result do not depend on where
// an element stands, on an address, or on the number of threads (docs: one order of summation).
#pragma once

#include "tensor/ops/arithmetic.h"     // + - * / with broadcasting, negate, add_into, scale_into
#include "tensor/ops/attention.h"      // masked multi-head attention, fused
#include "tensor/ops/cross_entropy.h"  // softmax and negative log-likelihood, fused, with an ignored label
#include "tensor/ops/dropout.h"        // scale or zero by a counter-based mask
#include "tensor/ops/embedding.h"      // rows by id, and scatter-add back
#include "tensor/ops/gelu.h"           // erf and tanh forms
#include "tensor/ops/layer_norm.h"     // two-pass, over the last dim
#include "tensor/ops/masked_fill.h"    // one number where a mask says so
#include "tensor/ops/math.h"           // exp log sqrt rsqrt square tanh erf sigmoid relu
#include "tensor/ops/matmul.h"         // products
#include "tensor/ops/random.h"         // uniform and normal fills
#include "tensor/ops/reduce.h"         // sum mean max, sum_to
#include "tensor/ops/softmax.h"        // over the last dim
