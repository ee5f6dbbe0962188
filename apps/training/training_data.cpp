#include "apps/training/training_data.h"

#include "apps/training/failure.h"

namespace ringlet {

TrainingData read_training_data(TrainConfig& config, Communicator& world) {
  TrainingData data;
  const uint64_t seed = config.model.seed;
  agree(world, [&] {
    if (config.corpus.empty()) {
      data.dataset = std::make_unique<CyclicDataset>(config.model.vocab_size, seed);
      return;
    }
    data.corpus = std::make_unique<Corpus>(CorpusOptions{.path = config.corpus,
                                                         .tokenizer = config.tokenizer,
                                                         .block = config.model.seq_len,
                                                         .heldout_fraction = config.heldout_fraction,
                                                         .allow_binary = config.allow_binary});
    data.dataset = std::make_unique<TextDataset>(*data.corpus, seed);
    const int64_t vocab_size = data.dataset->vocab_size();
    check<UsageError>(config.asked_vocab_size.value_or(vocab_size) == vocab_size,
                      "--vocab-size: {} of {} has {} tokens, got --vocab-size {}; leave it out", name_of(config.tokenizer),
                      config.corpus, vocab_size, config.asked_vocab_size.value_or(0));
    config.model.vocab_size = vocab_size;
  });
  return data;
}

}  // namespace ringlet
