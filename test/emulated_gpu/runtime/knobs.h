// What control.h sets, as the runtime reads it.
#pragma once

#include <optional>
#include <string_view>

#include "test/emulated_gpu/control.h"

namespace ringlet::emulated_gpu {

int device_count();
size_t device_bytes();
Order order();
bool looks_for_races();
bool protects_device_memory();

/// Counts a call of `name`; the error that it shall fail with, if any.
cudaError_t count_call(std::string_view name);

}  // namespace ringlet::emulated_gpu
