#include "apps/training/resume_proof.h"

#include <array>
#include <bit>

#include "apps/training/hex.h"
#include "collectives/control_scope.h"

namespace ringlet {
namespace {

Invariant claim_about(int64_t step) {
  return {
      .letter = 'd', .holds = std::nullopt, .claim = message("the step-{} checkpoint reloads byte-equal", step), .detail = {}};
}

// The lowest rank for which `differs` is true, −1 if there is none; the same on all ranks.
int first_rank_where(bool differs, Communicator& world) {
  std::array<int32_t, 1> first = {differs ? world.rank() : world.size()};
  const ControlScope control(world);
  world.all_reduce(first, ReduceOp::Min);
  return first[0] == world.size() ? -1 : first[0];
}

// The first step at which the repeated run has another loss, or 0.
int64_t first_difference(const std::vector<StepRecord>& history, const std::vector<StepRecord>& again) {
  const size_t offset = history.size() - again.size();
  for (size_t i = 0; i < again.size(); ++i) {
    if (std::bit_cast<uint64_t>(again[i].loss) != std::bit_cast<uint64_t>(history[offset + i].loss)) {
      return again[i].step;
    }
  }
  return 0;
}

}  // namespace

ProofDecision decide_on_proof(const TrainConfig& config, const SaveSchedule& schedule) {
  const int64_t from = schedule.last_before_end();
  if (from < 0) {
    return {false, "this run saves no checkpoint"};
  }
  const int64_t repeated = schedule.last_step - from;
  if (!config.verify_resume.value_or(repeated <= kRepeatedUnasked)) {
    return {false, config.verify_resume ? "--no-verify-resume"
                                        : message("{} steps would have to be repeated; --verify-resume does it", repeated)};
  }
  return {true, ""};
}

Invariant prove_resume(const Snapshot& snapshot, const std::vector<StepRecord>& history, const TrainConfig& config,
                       const TrainingData& data, Communicator& world) {
  Invariant result = claim_about(snapshot.step);
  TrainingRun again(config, data, world);
  again.load(snapshot.path);

  std::vector<std::byte> bytes;
  copy_state(again.parallel().state(), bytes);
  const bool state_differs = bytes != snapshot.bytes || again.parallel().updates() != snapshot.updates;
  if (const int rank = first_rank_where(state_differs, world); rank >= 0) {
    result.holds = false;
    result.detail = message("what rank {} read back from {} is not what it held in memory", rank, snapshot.path);
    return result;
  }

  History repeated(config.steps - snapshot.step);
  again.train_until(config.steps, repeated);
  const int64_t step = first_difference(history, repeated.records());
  const bool same_hash = again.parallel().parameter_hash() == history.back().param_hash;
  const int rank = first_rank_where(step != 0 || !same_hash, world);
  result.holds = rank < 0;
  if (rank < 0) {
    result.detail = message(
        "{} bytes of master, moments and step on this rank, alike on every rank; a fresh model and optimizer that "
        "load it and continue to step {} end with the same loss bits and parameter hash {}",
        bytes.size(), config.steps, hex(history.back().param_hash));
  } else {
    result.detail = step != 0 ? message("continued from it, the loss differs at step {}", step)
                              : message("continued from it, the run ends with other parameters (first seen on rank {})", rank);
  }
  return result;
}

Invariant resume_invariant(const ProofDecision& decision, const std::optional<Snapshot>& snapshot,
                           const std::vector<StepRecord>& history, int64_t rollbacks, const TrainConfig& config,
                           const TrainingData& data, Communicator& world) {
  std::string why_not = decision.why;
  if (decision.wanted && !snapshot) {
    why_not = "the checkpoint that a proof starts from was not written";
  }
  if (decision.wanted && snapshot) {
    if (snapshot->rollbacks == rollbacks) {
      return prove_resume(*snapshot, history, config, data, world);
    }
    why_not = "after that checkpoint the guard refused a step, and what led to it need not come again";
  }
  return {.letter = 'd', .holds = std::nullopt, .claim = "a checkpoint reloads byte-equal", .detail = why_not};
}

}  // namespace ringlet
