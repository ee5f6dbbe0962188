// A fingerprint of parameters that does not see shards:
//   Σ mod 2^64 of mix64((hash of the logical name + i·φ) ⊕ bits of element i)          φ = 2^64 / golden ratio, odd
// Every element adds a pseudo-random number that depends on its name, its logical index and its bits, so parts add up in any
// order, padding adds nothing, and two elements that change places are noticed. Not cryptographic. About 0.3 ns per element of
// f32.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace ringlet {

/// The part of elements [begin, begin + piece.numel()) of the logical tensor `name`. Contiguous, any dtype.
uint64_t parameter_hash(std::string_view name, int64_t begin, const Tensor& piece);

/// 16 hex digits.
std::string hash_to_hex(uint64_t hash);

}  // namespace ringlet
