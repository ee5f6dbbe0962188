#include "apps/training/communication_config.h"

#include "collectives/factory.h"

namespace ringlet {

Algorithms CommunicationConfig::algorithms() const {
  return {.wherever = algorithm_named(algorithm), .order = reduction_order_named(reduction_order)};
}

void communication_flags(Flags& flags, CommunicationConfig& config) {
  try {
    config.timeout_s = 1e-3 * static_cast<double>(default_deadline().count());
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  flags.group("Communication");
  flags.real("--comm-timeout", config.timeout_s, {.low = 0.001, .high = 1e6},
             "seconds that a rank waits for another before the job ends; beats RINGLET_COMM_TIMEOUT");
  flags.mark("--ledger", config.ledger, true, "print calls, bytes, messages and time of every collective");
  flags.text("--trace", config.trace, "timeline of all ranks for Perfetto or chrome://tracing, JSON, at the end");
  flags.text("--call-history", config.call_history,
             "folder for each rank's last 256 calls, written when communication fails; default: a new one under runs/");
  flags.choice(
      "--reduction-order", config.reduction_order, {"canonical", "any"},
      "of float sums over ranks: canonical, the same bits on 1, 2, 4 and 8 ranks and every transport; any: over messages "
      "ring or tree by size");
  flags.choice(
      "--algorithm", config.algorithm,
      {"auto", "direct", "one_shot", "recursive_doubling", "halving_doubling", "distance_halving", "binomial_tree", "ring"},
      "wherever a collective has it; then messages carry it, and the order is its own");
}

}  // namespace ringlet
