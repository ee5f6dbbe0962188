// MPI as a process sees it: started once, finished once, ended for all when there is no other way.
#pragma once

#include <string>
#include <string_view>

namespace ringlet {

/// Starts MPI if nobody has, and then finishes it in its destructor, unless an exception is on its way out: the others may be
/// waiting for this rank, and finishing would wait for them; call `abort_world` then. MPI cannot be started twice in a
/// process, so main holds one for its whole length.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  /// What MPI grants: "single", "funneled", "serialized" or "multiple". Asked for: serialized, or for tests what the environment
  /// variable RINGLET_MPI_THREAD_LEVEL names ("funneled"; another text is an `Error`).
  std::string_view thread_level() const;

 private:
  bool owner_ = false;
  int exceptions_ = 0;  // on their way when this was made
};

/// Why MPI will not be started, of what the environment says: empty, or a text. May be asked before.
std::string mpi_environment_fault();

/// Whether a thread beside the one that started MPI may call it: without, nothing across hosts overlaps with computation.
bool mpi_allows_threads();

/// Whether MPI has finished in this process: then nothing may be asked of it.
bool mpi_finished();

/// Ends every process of the job with `exit_code`. Without MPI (not started, or finished) ends this one, without destructors.
[[noreturn]] void abort_world(int exit_code);

/// The implementation and its version, as it calls itself: "Open MPI v4.1.4". May be asked before MPI starts.
std::string mpi_library();

/// Whether an MPI launcher started this process. Looks at the environment only, so it may be asked before MPI starts.
bool launched_by_mpi();
/// This process's rank in the job as the launcher tells it in the environment, 0 where it does not.
int launcher_rank();

/// This rank among those of the same host: what the number of threads per rank depends on. MPI must be running.
struct HostPlace {
  int rank = 0;
  int size = 1;
};
HostPlace place_on_host();

}  // namespace ringlet
