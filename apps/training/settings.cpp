#include "apps/training/settings.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "apps/training/failure.h"
#include "apps/training/hex.h"
#include "collectives/control_scope.h"

namespace ringlet {
namespace {

// The shortest text that tells a double from its neighbours.
std::string exact(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

// As text; or as numbers, which older checkpoints spell with 17 digits. Whole numbers are compared as text: a double has not room for all.
bool is_same(const std::string& now, const std::string& saved) {
  if (now == saved || (now + saved).find_first_of(".e") == std::string::npos) {
    return now == saved;
  }
  double value = 0.0;
  const auto [end, error] = std::from_chars(saved.data(), saved.data() + saved.size(), value);
  return error == std::errc() && end == saved.data() + saved.size() && exact(value) == now;
}

std::string_view name_of(Schedule::Kind kind) {
  switch (kind) {
    case Schedule::Kind::Linear: return "linear";
    case Schedule::Kind::Cosine: return "cosine";
    default: return "constant";
  }
}

// Changes no number: a constant rate has no end, and --steps says only where to stop; where buckets are cut, and who holds and updates
// what, is the same to a sum.
bool is_harmless(const std::string& flag) {
  return flag == "--steps" || flag == "--bucket-bytes" || flag == "--strategy" || flag == "--shard-ranks";
}

}  // namespace

Settings settings_of(const TrainConfig& config, int world_size, uint64_t data_fingerprint) {
  const GptConfig& model = config.model;
  const OptimizerConfig& optimizer = config.optimizer;
  const Schedule& schedule = config.schedule;
  Settings settings = {
      {"--layers", to_text(model.layers)},
      {"--embed-dim", to_text(model.embed_dim)},
      {"--heads", to_text(model.heads)},
      {"--seq-len", to_text(model.seq_len)},
      {"--vocab-size", to_text(model.vocab_size)},
      {"--activation", model.activation == GeluForm::Erf ? "gelu" : "gelu_tanh"},
      {"--dropout", exact(model.dropout)},
      {"--tied-head", to_text(model.tied_head)},
      {"--no-bias", to_text(!model.bias)},
      {"--seed", to_text(model.seed)},
      {"--batch-size", to_text(config.batch_size)},
      {"--global-batch-size", to_text(config.micro_batches(world_size).sequences)},
      {"--strategy", config.strategy},
      {"--bucket-bytes", to_text(config.parallel.buckets.bytes)},
      {"--shard-ranks", to_text(config.parallel.shard_ranks)},
      {"--bf16-gradients", to_text(config.parallel.bf16_gradients)},
      {"--reduce-every-micro-batch", to_text(config.parallel.reduce_every_micro_batch)},
      {"--optimizer", optimizer.name},
      {"--beta1", exact(optimizer.beta1)},
      {"--beta2", exact(optimizer.beta2)},
      {"--eps", exact(optimizer.eps)},
      {"--momentum", exact(optimizer.momentum)},
      {"--weight-decay", exact(optimizer.weight_decay)},
      {"--clip", exact(config.clip)},
      {"--lr", exact(schedule.lr)},
      {"--schedule", std::string(name_of(schedule.kind))},
      {"--warmup", to_text(schedule.warmup)},
      {"--steps", to_text(config.steps)},
      {"--corpus", config.corpus.empty() ? "synthetic" : "content " + hex(data_fingerprint)},
      {"--tokenizer", std::string(ringlet::name_of(config.tokenizer))},
  };
  if (model.bf16) {
    settings.emplace_back("--bf16", "true");
  }
  if (config.tf32) {
    settings.emplace_back("--tf32", "true");
  }
  if (schedule.kind != Schedule::Kind::Constant) {
    settings.emplace_back("--min-lr", exact(schedule.min_lr));
    settings.emplace_back("--horizon", to_text(schedule.horizon));
  }
  return settings;
}

Settings calls_of(const TrainConfig& config) {
  return {
      {"--trace", to_text(!config.communication.trace.empty())},
      {"--ledger", to_text(config.communication.ledger)},
      {"--resume", to_text(!config.resume.empty())},
      {"--checkpoint-every", to_text(config.checkpoint_interval())},
      {"--checkpoint-end", to_text(config.checkpoint_end)},
      {"--checkpoint-minutes", exact(config.checkpoint_minutes)},
      {"--checkpoint-copy", to_text(!config.checkpoint_copy.empty())},
      {"--eval-every", to_text(config.eval_every)},
      {"--sample", to_text(config.sample)},
      {"--no-guard", to_text(!config.guard.on)},
      {"--retries", to_text(config.guard.retries)},
      {"--spike-z-score", exact(config.guard.spike_z_score)},
      {"--spike-at", to_text(config.spike_at)},
      {"--nan-at", to_text(config.nan_at)},
      {"--verify-resume", config.verify_resume ? to_text(*config.verify_resume) : "left out"},
      {"--checkpoint-async", to_text(config.checkpoint_behind)},
      {"--keep-checkpoints", to_text(config.keep_checkpoints)},
      {"--no-overlap", to_text(!config.parallel.overlap)},
      {"--no-prefetch", to_text(!config.parallel.prefetch)},
      {"--keep-after-forward", to_text(!config.parallel.reshard_after_forward)},
  };
}

SettingsChange compare_settings(const Settings& now, const std::map<std::string, std::string>& saved) {
  SettingsChange change;
  for (const auto& [flag, value] : now) {
    const auto before = saved.find(flag);
    if (before == saved.end()) {
      change.refused.push_back(message("{} is {}, the checkpoint does not say what it was", flag, value));
      continue;
    }
    if (is_same(value, before->second)) {
      continue;
    }
    auto& lines = is_harmless(flag) ? change.announced : change.refused;
    lines.push_back(message("{} is {}, was {} when the checkpoint was written", flag, value, before->second));
  }
  for (const char* flag : {"--bf16", "--tf32"}) {  // said only where they are on
    const auto is_flag = [&](const auto& setting) { return setting.first == flag; };
    if (saved.contains(flag) && std::none_of(now.begin(), now.end(), is_flag)) {
      change.refused.push_back(message("{} is off, was on when the checkpoint was written", flag));
    }
  }
  return change;
}

void require_same_settings(Communicator& world, const Settings& settings, const Settings& calls) {
  std::string mine;
  for (const Settings* list : {&settings, &calls}) {
    for (const auto& [flag, value] : *list) {
      mine += flag + " " + value + "\n";
    }
  }
  int32_t length = static_cast<int32_t>(mine.size());
  const ControlScope control(world);
  world.broadcast(Buffer(&length, 1, DType::I32), 0);
  std::string theirs = mine;
  theirs.resize(static_cast<size_t>(length));
  world.broadcast(Buffer(theirs.data(), length, DType::U8), 0);
  agree(world, [&] {
    const auto at = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end()).first - mine.begin();
    const auto line_at = [&](const std::string& text) {
      const size_t begin = text.rfind('\n', static_cast<size_t>(at)) + 1;
      return text.substr(begin, text.find('\n', begin) - begin);
    };
    check<UsageError>(mine == theirs, "ranks must be started with the same flags, got {} where rank 0 has {}", line_at(mine),
                      line_at(theirs));
  });
}

}  // namespace ringlet
