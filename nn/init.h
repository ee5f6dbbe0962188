// Initial parameters: a pure function of the seed, the parameter's name and the element, so the same full tensor comes out at
// every world size and in every sharding.
#pragma once

#include <cstdint>
#include <string_view>

#include "nn/module.h"

namespace ringlet {

/// GPT-2's standard deviation of weights (Radford et al., 2019).
inline constexpr double kInitStandardDeviation = 0.02;

/// x_i = N(0, standard_deviation): number `first + i` of the stream (seed, "init/" + name).
void init_normal(Tensor& x, uint64_t seed, std::string_view name, double standard_deviation, uint64_t first = 0);

/// GPT-2's rule, over all parameters of `model`: matrices N(0, 0.02), those that end a residual branch (c_proj.weight) divided by
/// √(2·layers), so that the sum of 2·layers branches keeps its variance. Vectors (gains 1, biases 0) stay as they were made. What is
/// deferred stays so, and begins with these numbers.
void init_gpt2(Module& model, int64_t layers, uint64_t seed);

}  // namespace ringlet
