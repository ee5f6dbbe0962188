// The twins of cpu/adamw.h on a GPU, with the same bits. What the slices point at lies on the device, the list itself on the host.
#pragma once

#include "tensor/kernels/cpu/adamw.h"

namespace ringlet::kernels::cuda {

template <typename T>
void adamw(const AdamWSlice<T>* slices, int64_t count, const AdamWScalars<T>& scalars);
template <typename T>
void adamw_at(const AdamWSlice<T>* slices, int64_t count, const AdamWScalars<T>* scalars);

}  // namespace ringlet::kernels::cuda
