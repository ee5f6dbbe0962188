#include "apps/training/parent_death.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace ringlet {

void end_with_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (parent != getppid()) {  // it died before we asked
    raise(SIGTERM);
  }
}

}  // namespace ringlet
