// The table of contents of what can be recorded and differentiated. One pair of files per op in autograd/ops/, forward and backward
// side by side under their formula.
#pragma once

#include "autograd/ops/arithmetic.h"       // + - * / with broadcasting, negate
#include "autograd/ops/attention.h"        // masked multi-head attention, fused
#include "autograd/ops/attention_clear.h"  // the same, spelled with products and softmax
#include "autograd/ops/cast.h"             // f32 to f64 and back, rounding to bf16
#include "autograd/ops/cross_entropy.h"    // Σ of token losses, and their count
#include "autograd/ops/dropout.h"
#include "autograd/ops/embedding.h"
#include "autograd/ops/gelu.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/layer_norm_clear.h"  // the same, spelled with means
#include "autograd/ops/linear.h"            // x·W + b
#include "autograd/ops/math.h"              // exp log sqrt rsqrt square tanh erf sigmoid relu
#include "autograd/ops/matmul.h"
#include "autograd/ops/reduce.h"  // sum mean
#include "autograd/ops/shape.h"   // reshape transpose permute narrow concat expand, masked_fill
#include "autograd/ops/softmax.h"
