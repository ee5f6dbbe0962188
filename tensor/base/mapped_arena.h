// Memory that lives in files: what is used rarely may leave RAM when the system wants it for something else.
#pragma once

#include <memory>
#include <string>

#include "tensor/base/arena.h"

namespace ringlet {

/// Every block is a file of its own in `directory`, mapped shared and without a name from the moment it is made: nothing is left
/// behind, however the process ends. Its space is reserved, so a full disk is an `Error` here and no signal later. Throws `Error`,
/// with path and errno, where the directory cannot hold files.
std::shared_ptr<Arena> mapped_arena(const std::string& directory);

}  // namespace ringlet
