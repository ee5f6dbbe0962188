// Codes of NCCL and CUDA as exceptions.
#pragma once

namespace ringlet {

/// Throw NcclFault "who: text" unless `code` is success.
void check_cuda(int code, const char* who);
void check_nccl(int code, const char* who);

}  // namespace ringlet
