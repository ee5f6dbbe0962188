// The flags --device and --tf32.
#pragma once

#include <string>

namespace ringlet {

/// What --device means beside --backend: left out, it is cuda with nccl and else cpu. UsageError where the two contradict.
std::string chosen_device(const std::string& asked, const std::string& backend);

/// The help of --tf32.
inline constexpr const char* kTf32Help =
    "products of f32 by tensor cores, on a GPU: factors rounded to 10 bits of mantissa, a product off by up to 2^-10 of itself";
/// UsageError where `tf32` is asked for on another device than cuda.
void require_tf32_on_gpu(bool tf32, const std::string& device);

}  // namespace ringlet
