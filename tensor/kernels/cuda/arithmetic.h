// The twins of cpu/arithmetic.h on a GPU: pointers are device pointers, and the call returns before the result is there.
#pragma once

#include "tensor/kernels/cpu/arithmetic.h"

namespace ringlet::kernels::cuda {

template <typename T>
void arithmetic(Arithmetic op, const Runs& runs, T* y, const T* a, const T* b);
template <typename T>
void arithmetic_into(Arithmetic op, const Runs& runs, T* y, const T* b);

template <typename T>
void arithmetic_number(Arithmetic op, const Runs& runs, T* y, const T* a, T c);
template <typename T>
void arithmetic_number_into(Arithmetic op, const Runs& runs, T* y, T c);

}  // namespace ringlet::kernels::cuda
