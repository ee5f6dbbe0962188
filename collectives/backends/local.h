// One rank: every collective is the identity.
#pragma once

#include <memory>
#include <string>

#include "collectives/communicator.h"

namespace ringlet {

/// What `call` comes to in a group of one: the output is the input, times the factor of a scaled sum. Messages have nobody to go to and never get here.
void run_alone(const Call& call);

std::unique_ptr<Communicator> make_local(std::string group = "world");

}  // namespace ringlet
