#include "apps/training/outcome.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/training/hex.h"
#include "apps/training/step_json.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

Json bytes_json(const MemoryBytes& bytes) {
  return {{"parameters", bytes.parameters},
          {"gradients", bytes.gradients},
          {"optimizer", bytes.optimizer},
          {"activations_peak", bytes.activations_peak},
          {"communication", bytes.communication}};
}

Json offloaded_json(const MemoryBytes& bytes) {
  return {{"parameters", bytes.parameters}, {"gradients", bytes.gradients}, {"optimizer", bytes.optimizer}};
}

Json memory_json(const MemoryProfile& profile) {
  Json rows = Json::array();
  for (const MemoryRow& row : profile.rows) {
    const Json overhead = {
        {"padding", row.overhead.padding}, {"rounding", row.overhead.rounding}, {"cached", row.overhead.cached}};
    const Json offloaded = {{"held", offloaded_json(row.offloaded)}, {"formula", offloaded_json(row.offloaded_formula)}};
    rows.push_back({{"held", bytes_json(row.held)},
                    {"formula", bytes_json(row.formula)},
                    {"offloaded", offloaded},
                    {"overhead", overhead}});
  }
  return rows;
}

Json invariants_json(const std::vector<Invariant>& invariants) {
  constexpr const char* kNames[] = {"loss_monotone", "replicas_equal", "memory_formula", "resume_byte_equal"};
  Json json = Json::object();
  for (const Invariant& invariant : invariants) {
    json[kNames[invariant.letter - 'a']] = invariant.holds ? Json(*invariant.holds) : Json(nullptr);
  }
  return json;
}

}  // namespace

std::string to_json(const Outcome& outcome) {
  Json steps = Json::array();
  for (const StepRecord& record : outcome.steps) {
    steps.push_back(Json::parse(to_json(record)));
  }
  const Json json = {{"schema_version", 1},
                     {"world_size", outcome.run.world_size},
                     {"backend", outcome.run.backend},
                     {"device", outcome.run.device},
                     {"transport", outcome.run.transport},
                     {"strategy", outcome.run.strategy},
                     {"reduction_order", outcome.run.reduction_order},
                     {"parameters", outcome.run.parameters},
                     {"steps", steps},
                     {"memory", memory_json(outcome.memory)},
                     {"communication", outcome.communication ? Json::parse(outcome.communication->json()) : Json(nullptr)},
                     {"invariants", invariants_json(outcome.invariants)},
                     {"heldout_loss", std::isfinite(outcome.heldout_loss) ? Json(outcome.heldout_loss) : Json(nullptr)},
                     {"final_param_hash", hex(outcome.final_param_hash)},
                     {"guard", {{"rollbacks", outcome.guard.rollbacks}, {"skipped_batches", outcome.guard.skipped}}},
                     {"exit_code", to_int(outcome.exit_code())}};
  return json.dump(2) + "\n";
}

}  // namespace ringlet
