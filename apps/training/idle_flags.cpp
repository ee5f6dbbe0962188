#include "apps/training/idle_flags.h"

#include "tensor/base/check.h"

namespace ringlet {

std::vector<std::string> idle_flags(const TrainConfig& config, const std::function<bool(const std::string&)>& given) {
  struct Group {
    bool heard;
    const char* needs;
    std::vector<const char*> flags;
  };
  const std::string& strategy = config.strategy;
  const bool sharded = strategy == "fsdp" || strategy == "hsdp";
  const std::vector<Group> groups = {
      {strategy == "ddp", "--strategy ddp", {"--bucket-bytes"}},
      {strategy != "zero1", "--strategy ddp, zero2, fsdp or hsdp", {"--no-overlap"}},
      {sharded, "--strategy fsdp or hsdp", {"--keep-after-forward", "--no-prefetch"}},
      {strategy == "hsdp", "--strategy hsdp", {"--shard-ranks"}},
      {!config.corpus.empty(),
       "--corpus",
       {"--tokenizer", "--heldout-fraction", "--allow-binary", "--eval-every", "--sample", "--temperature", "--top-k"}},
      {config.schedule.kind != Schedule::Kind::Constant, "--schedule linear or cosine", {"--horizon", "--min-lr"}},
      {given("--spike-at"), "--spike-at", {"--spike-lr-multiplier"}},
      {given("--nan-at"), "--nan-at", {"--nan-rank"}},
      {config.optimizer.name == "adamw", "--optimizer adamw", {"--beta1", "--beta2", "--eps"}},
      {config.optimizer.name == "sgd", "--optimizer sgd", {"--momentum"}},
      {!given("--no-guard"), "the guard", {"--retries", "--spike-z-score"}},
      {!config.model.bf16, "products of f32, without --bf16", {"--tf32"}},
  };
  std::vector<std::string> lines;
  for (const Group& group : groups) {
    for (const char* flag : group.flags) {
      if (!group.heard && given(flag)) {
        lines.push_back(message("{} changes nothing here: it needs {}", flag, group.needs));
      }
    }
  }
  return lines;
}

}  // namespace ringlet
