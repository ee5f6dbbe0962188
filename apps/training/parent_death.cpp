#include "apps/training/parent_death.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace ringlet {

void end_with_parent(int signal) {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, signal);
  if (parent != getppid()) {  // it died before we asked
    raise(signal);
  }
}

}  // namespace ringlet
