// MPI's return codes as CommErrors. Every call's code is checked: communicators of ours are set to MPI_ERRORS_RETURN, because
// the default handler cannot be relied upon to end a job. (Internal: used by the .cpp files that include <mpi.h>.)
#pragma once

#include <string>

#include "collectives/error.h"

namespace ringlet {

/// MPI's own text for `code`.
std::string mpi_error_text(int code);

/// Throws unless `code` is MPI_SUCCESS (0).
inline void check_mpi(int code, const char* function, int rank = -1, int size = 0, int peer = -1) {
  if (code != 0) [[unlikely]] {
    throw CommError({.rank = rank, .size = size, .peer = peer}, message("{}: {}", function, mpi_error_text(code)));
  }
}

}  // namespace ringlet
