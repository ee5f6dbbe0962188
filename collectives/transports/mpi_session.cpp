#include "collectives/transports/mpi_session.h"

#include <mpi.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <string>

#include "collectives/transports/mpi_errors.h"

namespace ringlet {
namespace {

bool mpi_started() {
  int yes = 0;
  MPI_Initialized(&yes);
  return yes != 0;
}

// Over TCP, Open MPI's "put" lets the two directions of an exchange take turns on the wire; sent, they share it (1 Gbit/s: an
// all_reduce of 43 MB takes 660 ms and 385). It is read when MPI starts, and who has set it keeps it.
void share_the_wire() { setenv("OMPI_MCA_btl_tcp_flags", "send,inplace", 0); }

std::string_view named_level() {
  const char* text = std::getenv("RINGLET_MPI_THREAD_LEVEL");
  return text == nullptr ? "" : text;
}

// Our threads never call MPI at the same time.
int wanted_level() {
  const std::string fault = mpi_environment_fault();
  check(fault.empty(), "{}", fault);
  return named_level().empty() ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
}

}  // namespace

std::string mpi_environment_fault() {
  const std::string_view level = named_level();
  if (!level.empty() && level != "funneled") {
    return message("RINGLET_MPI_THREAD_LEVEL: takes funneled, got '{}'", level);
  }
  const char* cma = std::getenv("RINGLET_CMA");  // read in peer_memory.cpp
  return cma == nullptr || *cma == '\0' || std::string_view(cma) == "off" ? ""
                                                                          : message("RINGLET_CMA: takes off, got '{}'", cma);
}

bool mpi_allows_threads() {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  return level >= MPI_THREAD_SERIALIZED;
}

bool mpi_finished() {
  int yes = 0;
  MPI_Finalized(&yes);
  return yes != 0;
}

std::string mpi_error_text(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    return message("MPI error {}", code);
  }
  return {text.data(), static_cast<size_t>(length)};
}

MpiSession::MpiSession() : exceptions_(std::uncaught_exceptions()) {
  check(!mpi_finished(),
        "mpi: was finished in this process and cannot start again; keep one MpiSession for the length of main");
  if (!mpi_started()) {
    int provided = MPI_THREAD_SINGLE;
    share_the_wire();
    check_mpi(MPI_Init_thread(nullptr, nullptr, wanted_level(), &provided), "MPI_Init_thread");
    owner_ = true;
  }
  check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

MpiSession::~MpiSession() {
  if (owner_ && !mpi_finished() && std::uncaught_exceptions() <= exceptions_) {
    MPI_Finalize();
  }
}

std::string_view MpiSession::thread_level() const {
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  switch (level) {
    case MPI_THREAD_FUNNELED: return "funneled";
    case MPI_THREAD_SERIALIZED: return "serialized";
    case MPI_THREAD_MULTIPLE: return "multiple";
    default: return "single";
  }
}

void abort_world(int exit_code) {
  if (mpi_started() && !mpi_finished()) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }
  std::_Exit(exit_code);
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string whole(text.data(), static_cast<size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

bool launched_by_mpi() {
  // Open MPI, PMIx, MPICH and its relatives (Intel, MVAPICH), Slurm's srun
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}) {
    if (std::getenv(name) != nullptr) {
      return true;
    }
  }
  return false;
}

int launcher_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* text = std::getenv(name)) {
      return std::atoi(text);
    }
  }
  return 0;
}

HostPlace place_on_host() {
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host), "MPI_Comm_split_type");
  HostPlace place;
  check_mpi(MPI_Comm_rank(host, &place.rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(host, &place.size), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  return place;
}

}  // namespace ringlet
