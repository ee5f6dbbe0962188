// The flags of gpt_e2e, group by group, as --help shows them.
#include <algorithm>
#include <limits>

#include "apps/training/device_flag.h"
#include "apps/training/flags.h"
#include "apps/training/idle_flags.h"
#include "apps/training/train_config.h"
#include "optim/adamw.h"
#include "tensor/base/build_info.h"

namespace ringlet {
namespace {

constexpr int64_t kMany = 1'000'000'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Interval kNonNegative = {0.0, kInfinity};
constexpr Interval kPositive = {0.0, kInfinity, false};
constexpr Interval kFraction = {0.0, 1.0, true, false};  // [0, 1)

// Flags whose value is not yet what the configuration holds.
struct Spelled {
  std::string activation = "gelu";
  std::string schedule = "constant";
  std::string tokenizer = "bytes";
  std::string device;
  int64_t seed = 41;
  int64_t vocab_size = 64;
  int64_t shard_ranks = 0;
  bool verify = false;
  bool no_verify = false;
  bool version = false;
};

void model_flags(Flags& flags, TrainConfig& config, Spelled& spelled) {
  GptConfig& model = config.model;
  flags.group("Model");
  flags.whole("--layers", model.layers, 1, 10'000, "transformer blocks");
  flags.whole("--embed-dim", model.embed_dim, 1, 1'000'000, "width C");
  flags.whole("--heads", model.heads, 1, 1'000'000, "attention heads; must divide the width");
  flags.whole("--seq-len", model.seq_len, 1, 1'000'000, "tokens T of a sequence");
  flags.whole("--vocab-size", spelled.vocab_size, 1, 10'000'000, "tokens V; with --corpus it comes from the text");
  flags.choice("--activation", spelled.activation, {"gelu", "gelu_tanh"}, "of the MLP: erf form, or GPT-2's tanh form");
  flags.real("--dropout", model.dropout, kFraction, "of embeddings, attention and residual branches");
  flags.mark("--tied-head", model.tied_head, true, "the LM head is the token embedding, transposed");
  flags.mark("--bf16", model.bf16, true, "activations and products in bf16, on a GPU; parameters and optimizer stay in f32");
  flags.mark("--no-bias", model.bias, false, "no bias in MLP and LayerNorm");
}

void optimization_flags(Flags& flags, TrainConfig& config, Spelled& spelled) {
  OptimizerConfig& optimizer = config.optimizer;
  flags.group("Training");
  flags.whole("--steps", config.steps, 1, kMany, "steps in all, those before --resume included");
  flags.whole("--batch-size", config.batch_size, 1, 1'000'000, "sequences per rank and micro-batch");
  flags.whole("--global-batch-size", config.global_batch_size, 1, kMany,
              "sequences per step over all ranks; accumulates when it exceeds ranks x batch size, its default");
  flags.whole("--seed", spelled.seed, 0, std::numeric_limits<int64_t>::max(), "of parameters, data, dropout and sampling");
  flags.choice("--optimizer", optimizer.name, {"adamw", "sgd"}, "AdamW, or SGD with momentum");
  flags.real("--lr", config.schedule.lr, kNonNegative, "highest learning rate");
  flags.choice("--schedule", spelled.schedule, {"constant", "linear", "cosine"}, "of the learning rate, after the warm-up");
  flags.whole("--warmup", config.schedule.warmup, 0, kMany, "updates of linear warm-up");
  flags.real("--min-lr", config.schedule.min_lr, kNonNegative, "learning rate at the end of linear and cosine");
  flags.whole("--horizon", config.schedule.horizon, 1, kMany, "updates after which the schedule ends; default: the steps");
  flags.real("--beta1", optimizer.beta1, kFraction, "adamw: decay of the first moment");
  flags.real("--beta2", optimizer.beta2, kFraction, "adamw: decay of the second moment");
  flags.real("--eps", optimizer.eps, kPositive, "adamw: added to the root of the second moment");
  flags.real("--momentum", optimizer.momentum, kFraction, "sgd");
  flags.real("--weight-decay", optimizer.weight_decay, kNonNegative, "of matrices and embeddings, decoupled in adamw");
  flags.real("--clip", config.clip, kNonNegative, "largest global gradient norm; 0: do not clip");
}

void guard_flags(Flags& flags, TrainConfig& config) {
  flags.group(
      "Guard: a loss or gradient that is not finite, or a spike, leads back to the last checkpoint, its batch is skipped");
  flags.mark("--no-guard", config.guard.on, false, "accept spikes; what is not finite ends the run");
  flags.whole("--retries", config.guard.retries, 0, 1000, "rollbacks in a row that do not get past the refused step");
  flags.real("--spike-z-score", config.guard.spike_z_score, kNonNegative,
             "a spike is a loss so many deviations above the running mean; 0: more than twice the last loss");
  flags.whole("--spike-at", config.spike_at, 1, kMany, "exercise: at this step, once, multiply the learning rate");
  flags.real("--spike-lr-multiplier", config.spike_lr_multiplier, kNonNegative, "by this");
  flags.whole("--nan-at", config.nan_at, 1, kMany, "exercise: at this step, once, the loss of one rank becomes NaN");
  flags.whole("--nan-rank", config.nan_rank, 0, 4095, "of this rank");
}

void parallel_flags(Flags& flags, TrainConfig& config, Spelled& spelled) {
  flags.group("Parallelism");
  flags.choice("--strategy", config.strategy, {"ddp", "zero1", "zero2", "fsdp", "hsdp"},
               "how ranks share the work: nothing, optimizer, gradients too, parameters too; hsdp: fsdp within groups");
  flags.whole("--bucket-bytes", config.parallel.buckets.bytes, 1, kMany,
              "ddp: a range of the gradient this large leaves while backward computes the rest; the first at most 1 MiB");
  flags.mark("--no-overlap", config.parallel.overlap, false,
             "backward waits until a gradient has left; not zero1, which sends at its end");
  flags.mark("--reduce-every-micro-batch", config.parallel.reduce_every_micro_batch, true,
             "sum gradients over ranks in every micro-batch: shards accumulate instead of whole gradients");
  flags.mark("--keep-after-forward", config.parallel.reshard_after_forward, false,
             "fsdp, hsdp: parameters stay whole from forward to backward: more memory, a third less sent");
  flags.mark("--no-prefetch", config.parallel.prefetch, false, "fsdp, hsdp: gather a layer when it is needed, not before");
  flags.mark("--bf16-gradients", config.parallel.bf16_gradients, true,
             "round gradients to bf16 on their way: half the bytes, other bits");
  flags.mark("--cuda-graph", config.parallel.record, true,
             "ddp, zero1, on a GPU: record forward and backward of a micro-batch once, and repeat them as a whole");
  flags.text(
      "--offload", config.parallel.offload_dir,
      "keep what only the optimizer needs in files in this directory, mapped into memory; with --device cuda: pinned, in "
      "memory of the host, which then computes the update");
  flags.whole("--shard-ranks", spelled.shard_ranks, 1, 1'000'000,
              "hsdp: ranks that share one copy; default: half of them, or all where they are odd in number");
}

void data_flags(Flags& flags, TrainConfig& config, Spelled& spelled) {
  flags.group("Data");
  flags.text("--corpus", config.corpus, "train on this text instead of the synthetic task");
  flags.choice("--tokenizer", spelled.tokenizer, {"bytes", "chars"}, "256 bytes, or the characters that the text has");
  flags.real("--heldout-fraction", config.heldout_fraction, kFraction, "of the text, at its end, is not trained on");
  flags.mark("--allow-binary", config.allow_binary, true, "take a corpus that does not look like text");
  flags.whole("--eval-every", config.eval_every, 0, kMany, "steps between held-out losses; 0: only at the end");
  flags.whole("--sample", config.sample, 0, 1'000'000, "characters to generate at the end of a corpus run; 0: none");
  flags.real("--temperature", config.temperature, kNonNegative, "of the sample; 0: the likeliest token");
  flags.whole("--top-k", config.top_k, 0, 10'000'000, "sample among the k likeliest tokens; 0: all");
}

void checkpoint_flags(Flags& flags, TrainConfig& config, Spelled& spelled) {
  flags.group("Checkpoints");
  flags.whole(
      "--checkpoint-every", config.checkpoint_every, 0, kMany,
      "steps between checkpoints, the end excluded unless it is the first; 0: none; default: half the steps, rounded up");
  flags.mark("--checkpoint-end", config.checkpoint_end, true, "save after the last step too");
  flags.real("--checkpoint-minutes", config.checkpoint_minutes, kNonNegative,
             "also when so many minutes have passed since the last; 0: never");
  flags.whole("--keep-checkpoints", config.keep_checkpoints, 1, kMany, "of this run, the last so many; default: all");
  flags.mark("--checkpoint-async", config.checkpoint_behind, true, "copy the state and write files while training goes on");
  flags.text("--checkpoint-copy", config.checkpoint_copy,
             "copy every complete checkpoint into this folder too, behind training: a fast disk first, a safe place second");
  flags.text("--checkpoint-dir", config.checkpoint_dir, "default: a new folder under runs/, or the one resumed from");
  flags.text("--resume", config.resume, "go on from the latest checkpoint in this folder, or from this step's folder");
  flags.mark("--allow-changes", config.allow_changes, true, "resume with other settings than the checkpoint's, and say which");
  flags.mark("--verify-resume", spelled.verify, true,
             "repeat the steps after the last checkpoint with fresh objects; "
             "default when they are at most 50");
  flags.mark("--no-verify-resume", spelled.no_verify, true, "do not");
}

void running_flags(Flags& flags, TrainConfig& config, Spelled& spelled) {
  flags.group("Running and reporting");
  flags.whole("--np,--world-size", config.ranks, 1, 4096, "ranks: starts itself under mpirun; under mpirun it must agree");
  flags.whole("--threads", config.threads, 1, 4096, "per rank; default: cores / ranks on the host");
  flags.choice("--backend", config.backend, {"mpi", "nccl"}, "what carries the collectives; nccl: with a GPU for each rank");
  flags.choice("--device", spelled.device, {"cpu", "cuda"},
               "where ranks compute; default: cuda with the backend nccl, else cpu. With cuda and mpi, ranks may share a GPU");
  flags.mark("--tf32", config.tf32, true, kTf32Help);
  flags.choice(
      "--transport", config.transport, {"auto", "shm", "mpi"},
      "of the backend mpi: shared memory (one host), messages, or auto: shared memory inside hosts, messages between them");
  flags.whole("--log-every", config.log_every, 1, kMany, "steps between rows; default: 20 rows in all");
  flags.text("--metrics", config.metrics, "JSONL, a line per step");
  flags.text("--summary", config.summary, "JSON, at the end");
  flags.mark("--json", config.json, true, "print the summary instead of the report");
  flags.mark("--quiet", config.quiet, true, "print only the invariants and what went wrong");
  flags.mark("--info", config.info, true, "show build, CPU, kernels, threads, MPI, transport, CUDA; then stop");
  flags.mark("--version", spelled.version, true, "show the version; then stop");
}

template <typename Check>
void as_usage_error(Check&& rule) {
  try {
    rule();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
}

// Files are mapped where the CPU computes; beside a GPU there is the host's memory.
void settle_offload(TrainConfig& config) {
  std::string& where = config.parallel.offload_dir;
  if (config.device == "cpu") {
    check<UsageError>(where != "pinned", "--offload: pinned is for --device cuda; a folder of that name is ./pinned");
    return;
  }
  check<UsageError>(where.empty() || where == "pinned", "--offload: with --device {} it must be pinned, got {}", config.device,
                    where);
  check<UsageError>(where.empty() || config.strategy != "ddp",
                    "--offload: ddp updates the parameters that it computes with; take --strategy zero1, zero2, fsdp or hsdp");
  config.parallel.offload_to_host = !where.empty();
  where.clear();
}

// What the flags say together.
void settle(TrainConfig& config, const Spelled& spelled, const Flags& flags) {
  config.model.activation = spelled.activation == "gelu" ? GeluForm::Erf : GeluForm::Tanh;
  config.model.seed = static_cast<uint64_t>(spelled.seed);
  config.model.vocab_size = spelled.vocab_size;
  if (flags.given("--vocab-size")) {
    config.asked_vocab_size = spelled.vocab_size;
  }
  config.schedule.kind = schedule_kind(spelled.schedule);
  if (config.schedule.horizon == 0) {
    config.schedule.horizon = config.steps;
  }
  BucketSizes& buckets = config.parallel.buckets;
  buckets.first_bytes = std::min(buckets.first_bytes, buckets.bytes);
  config.parallel.shard_ranks = static_cast<int>(spelled.shard_ranks);
  config.tokenizer = spelled.tokenizer == "bytes" ? Tokenizer::Kind::Bytes : Tokenizer::Kind::Chars;
  config.device = chosen_device(spelled.device, config.backend);
  check<UsageError>(!config.model.bf16 || config.device == "cuda", "--bf16: is computed on GPUs, got --device {}",
                    config.device);
  require_tf32_on_gpu(config.tf32, config.device);
  settle_offload(config);
  check<UsageError>(
      !config.parallel.record || (config.device == "cuda" && (config.strategy == "ddp" || config.strategy == "zero1")),
      "--cuda-graph: is for --device cuda with --strategy ddp or zero1, got {} with {}", config.device, config.strategy);
  check<UsageError>(!spelled.verify || !spelled.no_verify, "--verify-resume and --no-verify-resume contradict each other");
  if (spelled.verify || spelled.no_verify) {
    config.verify_resume = spelled.verify;
  }
  const Schedule& schedule = config.schedule;
  check<UsageError>(schedule.min_lr <= schedule.lr, "--min-lr: must not exceed --lr, got {} above {}", schedule.min_lr,
                    schedule.lr);
  check<UsageError>(schedule.kind == Schedule::Kind::Constant || schedule.warmup < schedule.horizon,
                    "--warmup: must end before the schedule does, got {} of {} updates", schedule.warmup, schedule.horizon);
  check<UsageError>(config.model.embed_dim % config.model.heads == 0,
                    "--heads: must divide --embed-dim, got {} heads for width {}", config.model.heads, config.model.embed_dim);
  check<UsageError>(config.transport != "shm" || config.communication.algorithm == "auto",
                    "--transport: shm has algorithms of its own, got --algorithm {}", config.communication.algorithm);
  check<UsageError>(config.backend != "nccl" || config.communication.algorithm == "auto",
                    "--backend: nccl has algorithms of its own, got --algorithm {}", config.communication.algorithm);
  as_usage_error([&] { config.model.validate(); });
  as_usage_error([&] { config.schedule.validate(); });
  as_usage_error([&] { AdamWConfig{.beta2 = config.optimizer.beta2, .eps = config.optimizer.eps}.check_eps(DType::F32); });
}

}  // namespace

CommandLine parse_train_config(int argc, const char* const* argv) {
  CommandLine line;
  Spelled spelled;
  Flags flags("gpt_e2e", "Trains a mini-GPT on many ranks, end to end, and proves what it claims.", kExitCodeHelp);
  model_flags(flags, line.config, spelled);
  optimization_flags(flags, line.config, spelled);
  guard_flags(flags, line.config);
  parallel_flags(flags, line.config, spelled);
  data_flags(flags, line.config, spelled);
  checkpoint_flags(flags, line.config, spelled);
  running_flags(flags, line.config, spelled);
  communication_flags(flags, line.config.communication);
  line.text = flags.parse(argc, argv);
  if (spelled.version) {
    line.text = message("gpt_e2e {}\n", build_info().version);
  }
  if (!line.text) {
    settle(line.config, spelled, flags);
    line.config.notes = idle_flags(line.config, [&](const std::string& name) { return flags.given(name); });
  }
  return line;
}

}  // namespace ringlet
