// The programs' own launcher: --np N starts the program again under mpirun, N times, with the environment that it needs.
#pragma once

#include <string>

namespace ringlet {

/// Runs `mpirun -np ranks` of this very program with the same arguments, and returns the exit code for the job when all of it is
/// over: that of the program; 5 when a rank was killed; 130 after Ctrl-C; 7 when mpirun is not there, or could start no rank; 3 when
/// all went well but standard output, which passes through here, did not take all of it.
/// SIGINT, SIGHUP, SIGUSR1 and SIGUSR2 are passed on; so is SIGTERM, the first as SIGUSR1, which leaves ranks the time to save. Root, more ranks than cores, and unbound ranks are allowed
/// (Open MPI 4 and 5) unless the environment says otherwise already. The job ends when this process dies.
int launch(int ranks, int argc, char** argv);

/// For a rank, before MPI starts: the launcher, if it is ours, tells mpirun's failures from those of ranks.
void tell_launcher_of_start();

/// What an exit status of mpirun means for the job, in our exit codes. `signal`: the one that told us to end it (Ctrl-C is SIGINT),
/// or 0.
int exit_code_of_job(int wait_status, int signal);

}  // namespace ringlet
