// A process that ends when its parent does.
#pragma once

namespace ringlet {

/// When the parent of this process dies, this process gets `signal`; at once if it is dead already. Linux.
void end_with_parent(int signal);

}  // namespace ringlet
