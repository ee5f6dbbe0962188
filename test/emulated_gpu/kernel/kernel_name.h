// The name of a kernel by its address, from the symbols of the file it was loaded from.
#pragma once

#include <string>

namespace ringlet::emulated_gpu {

/// As the linker knows it, hidden symbols too; empty when the file has no symbols.
std::string mangled_kernel_name(const void* function);
/// As the source knows it; "kernel" when nobody knows.
std::string kernel_name(const void* function);

}  // namespace ringlet::emulated_gpu
