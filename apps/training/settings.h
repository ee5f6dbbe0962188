// What decides the numbers of a run, as text: compared across ranks, recorded in checkpoints, and compared again at --resume.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "apps/training/train_config.h"

namespace ringlet {

/// Flag and value. Two runs that agree in all of them (and in ranks and build) have the same bits.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// What decides, besides, which calls ranks make together, and no number: whether they trace, save, evaluate.
Settings calls_of(const TrainConfig& config);

/// `data_fingerprint` stands for the corpus, wherever its file lies.
Settings settings_of(const TrainConfig& config, int world_size, uint64_t data_fingerprint);

/// What `now` has otherwise than `saved`, worth a line each: "--lr is 0.01, was 0.005 when the checkpoint was written".
/// `refused`: it would continue another run. `announced`: it changes nothing that is still to come.
struct SettingsChange {
  std::vector<std::string> refused;
  std::vector<std::string> announced;
};
SettingsChange compare_settings(const Settings& now, const std::map<std::string, std::string>& saved);

/// (all) Throws UsageError, agreed upon, when the ranks were started with different settings, or with different calls.
void require_same_settings(Communicator& world, const Settings& settings, const Settings& calls = {});

}  // namespace ringlet
