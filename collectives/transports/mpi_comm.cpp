#include "collectives/transports/mpi_comm.h"

#include <mpi.h>

#include <utility>

#include "collectives/transports/mpi_errors.h"

namespace ringlet {

MpiComm::MpiComm(int handle) : valid_(true), handle_(handle) {
  MPI_Comm comm = MPI_Comm_f2c(handle);
  check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm, &size_), "MPI_Comm_size");
}

MpiComm::MpiComm(MpiComm&& other) noexcept
    : valid_(std::exchange(other.valid_, false)), handle_(other.handle_), rank_(other.rank_), size_(other.size_) {}

MpiComm::~MpiComm() {
  int finished = 0;
  MPI_Finalized(&finished);
  if (valid_ && finished == 0) {
    MPI_Comm comm = MPI_Comm_f2c(handle_);
    MPI_Comm_free(&comm);
  }
}

MpiComm MpiComm::world() {
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  return MpiComm(MPI_Comm_c2f(comm));
}

MpiComm MpiComm::split(int color, int key) const {
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(MPI_Comm_f2c(handle_), color < 0 ? MPI_UNDEFINED : color, key, &part), "MPI_Comm_split", rank_,
            size_);
  return part == MPI_COMM_NULL ? MpiComm() : MpiComm(MPI_Comm_c2f(part));
}

int MpiComm::rank_in(const MpiComm& other, int rank) const {
  MPI_Group ours = MPI_GROUP_NULL, theirs = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(MPI_Comm_f2c(handle_), &ours), "MPI_Comm_group");
  check_mpi(MPI_Comm_group(MPI_Comm_f2c(other.handle_), &theirs), "MPI_Comm_group");
  int found = -1;
  check_mpi(MPI_Group_translate_ranks(ours, 1, &rank, theirs, &found), "MPI_Group_translate_ranks");
  MPI_Group_free(&ours);
  MPI_Group_free(&theirs);
  return found;
}

int MpiComm::unexpected_from(int peer) const {
  int found = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(peer, MPI_ANY_TAG, MPI_Comm_f2c(handle_), &found, &status), "MPI_Iprobe", rank_, size_, peer);
  return found != 0 ? status.MPI_TAG : -1;
}

int MpiComm::largest_tag() {
  int* largest = nullptr;
  int known = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &known), "MPI_Comm_get_attr");
  return known != 0 ? *largest : 32767;
}

}  // namespace ringlet
