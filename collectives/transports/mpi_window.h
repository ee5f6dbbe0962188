// MPI's shared-memory window as memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace ringlet {

/// Whether all ranks of the job are on one host. Collective.
bool all_on_one_host();

/// Bytes that windows can still have, on the host that has the fewest. Collective.
int64_t shared_window_space();
/// Whether on every host a window of `bytes` can be had, which its own ranks name. Collective, and the same answer on all ranks.
bool shared_windows_fit(size_t bytes);

/// `bytes` that all ranks of the job on this rank's host see; unmapped with the last copy, after MPI's end never.
/// Collective. Its name in the file system is gone when this returns.
std::shared_ptr<std::byte> allocate_shared_window(size_t bytes);

}  // namespace ringlet
