// What a run trains on and is judged by: the synthetic task, or a text.
#pragma once

#include <memory>
#include <optional>

#include "apps/training/corpus.h"
#include "apps/training/dataset.h"
#include "apps/training/train_config.h"
#include "collectives/communicator.h"

namespace ringlet {

struct TrainingData {
  std::unique_ptr<Corpus> corpus;  // null for the synthetic task
  std::unique_ptr<Dataset> dataset;

  /// What `corpus` holds out; empty without one.
  std::span<const int32_t> heldout() const { return corpus == nullptr ? std::span<const int32_t>() : corpus->heldout(); }
};

/// (all) Every rank reads the corpus for itself; when any cannot, all throw the same. The vocabulary of `config.model` becomes that of
/// the text; a UsageError when another one was asked for.
TrainingData read_training_data(TrainConfig& config, Communicator& world);

}  // namespace ringlet
