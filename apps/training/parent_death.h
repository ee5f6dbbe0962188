// No process of a job outlives the one that started it.
#pragma once

namespace ringlet {

/// From now on this process gets SIGTERM when its parent dies (after kill -9 of mpirun, ranks would otherwise live on).
void end_with_parent();

}  // namespace ringlet
