#include "apps/training/idle_flags.h"

#include <set>

#include "tensor/base/check.h"

namespace ringlet {

std::vector<std::string> idle_flags(const TrainConfig& config, const std::function<bool(const std::string&)>& given) {
  struct Group {
    bool heard;
    const char* needs;
    std::vector<const char*> flags;
  };
  const std::string& strategy = config.strategy;
  const bool sharded = strategy == "fsdp" || strategy == "hsdp", sampling = config.sample > 0;
  const bool reports = !config.quiet && !config.json;
  const bool saves = config.checkpoint_interval() > 0 || config.checkpoint_end || config.checkpoint_minutes > 0.0;
  const std::vector<Group> groups = {
      {strategy == "ddp", "--strategy ddp", {"--bucket-bytes"}},
      {strategy != "zero1", "--strategy ddp, zero2, fsdp or hsdp", {"--no-overlap"}},
      {sharded, "--strategy fsdp or hsdp", {"--keep-after-forward", "--no-prefetch"}},
      {strategy == "hsdp", "--strategy hsdp", {"--shard-ranks"}},
      {!config.corpus.empty(),
       "--corpus",
       {"--tokenizer", "--heldout-fraction", "--allow-binary", "--eval-every", "--sample", "--temperature", "--top-k"}},
      {config.heldout_fraction > 0.0, "--heldout-fraction above 0", {"--eval-every"}},
      {config.eval_every < config.steps, "more --steps, for the last is evaluated in any case", {"--eval-every"}},
      {sampling, "--sample above 0", {"--temperature", "--top-k"}},
      {config.temperature > 0.0 || !sampling, "--temperature above 0", {"--top-k"}},
      {reports, "the report, which --quiet and --json leave out", {"--log-every", "--eval-every"}},
      {reports || !sampling, "the report, which --quiet and --json leave out", {"--sample"}},
      {!config.json, "the report, which --json leaves out", {"--quiet"}},
      {saves,
       "a checkpoint to be saved, and --checkpoint-every 0 alone saves none",
       {"--checkpoint-dir", "--keep-checkpoints", "--checkpoint-async", "--checkpoint-copy", "--verify-resume"}},
      {given("--resume"), "--resume", {"--allow-changes"}},
      {config.spike_at <= config.steps, "at least as many --steps", {"--spike-at"}},
      {config.nan_at <= config.steps, "at least as many --steps", {"--nan-at"}},
      {config.schedule.kind != Schedule::Kind::Constant, "--schedule linear or cosine", {"--horizon", "--min-lr"}},
      {given("--spike-at"), "--spike-at", {"--spike-lr-multiplier"}},
      {given("--nan-at"), "--nan-at", {"--nan-rank"}},
      {config.optimizer.name == "adamw", "--optimizer adamw", {"--beta1", "--beta2", "--eps"}},
      {config.optimizer.name == "sgd", "--optimizer sgd", {"--momentum"}},
      {!given("--no-guard"), "the guard", {"--retries", "--spike-z-score"}},
      {!config.model.bf16, "products of f32, without --bf16", {"--tf32"}},
  };
  std::vector<std::string> lines;
  std::set<std::string> told;
  for (const Group& group : groups) {
    for (const char* flag : group.flags) {
      if (!group.heard && given(flag) && !told.contains(flag)) {
        told.insert(flag);
        lines.push_back(message("{} changes nothing here: it needs {}", flag, group.needs));
      }
    }
  }
  return lines;
}

}  // namespace ringlet
