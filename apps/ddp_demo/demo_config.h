// The command line of ddp_demo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/training/communication_config.h"
#include "collectives/communicator.h"

namespace ringlet {

struct DemoConfig {
  int64_t ranks = 0;  // to start; 0: the launcher has started them
  std::string backend = "mpi";
  std::string device = "cpu";
  std::string output = "outputs/ddp-demo.json";
  int64_t num_steps = 6;
  int64_t batch_size = 8;  // over all ranks
  double lr = 0.05;
  int64_t seed = 41;
  bool write = true;
  CommunicationConfig communication;
};

/// A text comes back when there is nothing to do but to print it: --help. Throws UsageError. Without --world-size two ranks are
/// started, unless a launcher has started some already.
std::optional<std::string> parse_demo_config(int argc, const char* const* argv, DemoConfig& config);

/// (all) Throws UsageError, agreed upon, unless all ranks were given the same numbers and rank 0 can write the output, whose folder it
/// makes.
void prepare(const DemoConfig& config, Communicator& world);

}  // namespace ringlet
