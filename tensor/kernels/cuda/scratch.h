// Device memory for what one kernel of an op leaves to the next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringlet::kernels::cuda {

/// At least `bytes` on the GPU that the calling thread uses, aligned to 256, their content undefined. The next call of this
/// thread may hand out the same bytes: a thread's kernels run one after another, so an op takes all that it needs at once and
/// needs no more than the order of its stream. Grows to the largest request (some MB: partial sums, positions sorted by id),
/// which the ledgers do not see; smaller pieces stay until the thread ends, because recorded work may point into them. Throws
/// `DeviceError` when the device has no more memory.
std::byte* scratch(size_t bytes);

/// The same for `n` values of T.
template <typename T>
T* scratch_for(int64_t n) {
  return reinterpret_cast<T*>(scratch(static_cast<size_t>(n) * sizeof(T)));
}

}  // namespace ringlet::kernels::cuda
