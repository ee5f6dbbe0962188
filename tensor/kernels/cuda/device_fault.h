// Where kernels of this thread tell of the first id or label out of range.
#pragma once

#include "tensor/kernels/label_fault.h"

namespace ringlet::kernels::cuda {

/// Pinned host memory that kernels write to and the host reads after a wait; one record per host thread, kind None when there is
/// nothing to tell. A kernel takes the record by atomicCAS on `kind` and leaves one that is taken.
LabelFault* device_fault();

}  // namespace ringlet::kernels::cuda
