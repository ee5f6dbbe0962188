// The twins of cpu/sgd.h on a GPU, with the same bits. What the slices point at lies on the device, the list itself on the host.
#pragma once

#include "tensor/kernels/cpu/sgd.h"

namespace ringlet::kernels::cuda {

template <typename T>
void sgd(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>& scalars);
template <typename T>
void sgd_at(const SgdSlice<T>* slices, int64_t count, const SgdScalars<T>* scalars);

}  // namespace ringlet::kernels::cuda
