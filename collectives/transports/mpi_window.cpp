#include "collectives/transports/mpi_window.h"

#include <mpi.h>
#include <sys/statvfs.h>

#include <memory>

#include "collectives/transports/mpi_errors.h"
#include "collectives/transports/mpi_session.h"

namespace ringlet {
namespace {

constexpr size_t kPage = 4096;

// MPI takes windows from the file system for shared memory, and answers one that does not fit with an internal error.
int64_t space_here() {
  struct statvfs found {};
  return statvfs("/dev/shm", &found) == 0 ? static_cast<int64_t>(found.f_bavail) * static_cast<int64_t>(found.f_frsize)
                                          : INT64_MAX;
}

}  // namespace

bool all_on_one_host() {
  int size = 0;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  int here = place_on_host().size, least = 0;
  check_mpi(MPI_Allreduce(&here, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  return least == size;
}

int64_t shared_window_space() {
  int64_t space = space_here();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &space, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  return space;
}

bool shared_windows_fit(size_t bytes) {
  int fits = static_cast<int64_t>(bytes) <= space_here() ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), "MPI_Allreduce");
  return fits != 0;
}

std::shared_ptr<std::byte> allocate_shared_window(size_t bytes) {
  int rank = 0;
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(host, &rank), "MPI_Comm_rank");
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  const auto mine = static_cast<MPI_Aint>(rank == 0 ? bytes + kPage : 0);  // one piece, all of it rank 0's
  check_mpi(MPI_Win_allocate_shared(mine, 1, MPI_INFO_NULL, host, &base, &window), "MPI_Win_allocate_shared");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  MPI_Aint size = 0;
  int unit = 0;
  check_mpi(MPI_Win_shared_query(window, 0, &size, &unit, &base), "MPI_Win_shared_query");
  // Freeing a window is a meeting of all ranks, which those who fail do not come to: the job's end frees it.
  // MPI promises no alignment; mappings begin with pages, so the first whole page is the same one on every rank.
  size_t space = bytes + kPage;
  std::align(kPage, bytes, base, space);
  return {static_cast<std::byte*>(base), [](std::byte*) {}};
}

}  // namespace ringlet
