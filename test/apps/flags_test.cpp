#include <initializer_list>

#include "apps/training/failure.h"
#include "apps/training/train_config.h"
#include "test/support/catch.h"

using namespace ringlet;
using Catch::Matchers::Contains;

namespace {

CommandLine parse(std::initializer_list<const char*> words) {
  std::vector<const char*> argv = {"gpt_e2e"};
  argv.insert(argv.end(), words);
  return parse_train_config(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

TEST_CASE("[P3] a flag takes its whole value or the program does not start", "[flags]") {
  struct Row {
    std::vector<const char*> words;
    const char* message;
  };
  const std::vector<Row> rows = {
      {{"--steps", "abc"}, "--steps: takes a whole number from 1 to 1000000000, got 'abc'"},
      {{"--steps", ""}, "--steps: takes a whole number"},
      {{"--steps", "10x"}, "got '10x'"},
      {{"--steps", " 10"}, "got ' 10'"},
      {{"--steps", "+10"}, "got '+10'"},
      {{"--steps", "0x10"}, "got '0x10'"},
      {{"--steps", "1e3"}, "got '1e3'"},
      {{"--steps", "-5"}, "got '-5'"},
      {{"--steps", "0"}, "got '0'"},
      {{"--steps", "99999999999"}, "got '99999999999'"},
      {{"--steps", "99999999999999999999999"}, "got '99999999999999999999999'"},
      {{"--steps"}, "--steps: needs a value"},
      {{"--steps", "--lr"}, "got '--lr'"},
      {{"--steps", "5", "--steps", "6"}, "--steps: given more than once"},
      {{"--lr", "nan"}, "--lr: takes a finite number, at least 0, got 'nan'"},
      {{"--lr", "inf"}, "got 'inf'"},
      {{"--lr", "1e-3,"}, "got '1e-3,'"},
      {{"--lr", "1e-3x"}, "got '1e-3x'"},
      {{"--lr", "1e999"}, "got '1e999'"},
      {{"--lr", "-1"}, "got '-1'"},
      {{"--beta2", "1"}, "--beta2: takes a finite number, at least 0 and less than 1"},
      {{"--eps", "0"}, "more than 0"},
      {{"--eps", "1e-44"}, "AdamW: eps must be positive, times sqrt(1 - beta2) in f32 too, got 1e-44"},
      {{"--dropout", "1"}, "less than 1"},
      {{"--batch-size", "0"}, "--batch-size"},
      {{"--global-batch-size", "0"}, "--global-batch-size"},
      {{"--np", "0"}, "--np"},
      {{"--unknown", "1"}, "--unknown: no such flag"},
      {{"stray"}, "stray: no such flag"},
      {{"--strategy", "zero9"}, "--strategy: takes one of ddp|zero1|zero2|fsdp|hsdp, got 'zero9'"},
      {{"--embed-dim", "10", "--heads", "3"}, "--heads: must divide --embed-dim, got 3 heads for width 10"},
      {{"--schedule", "cosine", "--warmup", "20"}, "--warmup: must end before the schedule does, got 20 of 20 updates"},
      {{"--min-lr", "1"}, "--min-lr: must not exceed --lr, got 1 above 0.005"},
      {{"--verify-resume", "--no-verify-resume"}, "contradict"},
      {{"--corpus", ""}, "--corpus"},
      {{"--comm-timeout", "0"}, "--comm-timeout: takes a finite number, at least 0.001 and at most 1000000, got '0'"},
      {{"--comm-timeout", "2s"}, "got '2s'"},
      {{"--comm-timeout", "inf"}, "got 'inf'"},
      {{"--trace", ""}, "--trace: takes a path"},
      {{"--algorithm", "star"}, "--algorithm: takes one of auto|direct|"},
      {{"--reduction-order", "T"}, "--reduction-order: takes one of canonical|any"},
      {{"--quiet=false"}, "--quiet: takes no value, got 'false'"},
      {{"--steps", "3", "--tied-head="}, "--tied-head: takes no value, got ''"},
      {{"--backend", "nccl", "--algorithm", "ring"}, "--backend: nccl has algorithms of its own, got --algorithm ring"},
      {{"--transport", "shm", "--algorithm", "ring"}, "--transport: shm has algorithms of its own, got --algorithm ring"},
  };
  for (const Row& row : rows) {
    std::vector<const char*> argv = {"gpt_e2e"};
    argv.insert(argv.end(), row.words.begin(), row.words.end());
    CAPTURE(row.words);
    CHECK_THROWS_AS(parse_train_config(static_cast<int>(argv.size()), argv.data()), UsageError);
    CHECK_THROWS_WITH(parse_train_config(static_cast<int>(argv.size()), argv.data()), Contains(row.message));
  }
}

TEST_CASE("a message of the command line is one line", "[flags]") {
  for (const auto* word : {"--unknown", "--steps"}) {
    try {
      parse({word});
      FAIL("accepted");
    } catch (const UsageError& error) {
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
}

TEST_CASE("without flags it is the mini-GPT of the defaults", "[flags]") {
  const TrainConfig config = parse({}).config;
  CHECK(config.model == GptConfig{});
  CHECK(config.model.parameter_count() == 29824);
  CHECK(config.steps == 20);
  CHECK(config.batch_size == 4);
  CHECK(config.micro_batches(4).sequences == 16);
  CHECK(config.checkpoint_interval() == 10);
  CHECK(config.strategy == "zero1");
  CHECK(learning_rate(config.schedule, 0) == 5e-3);
  CHECK(learning_rate(config.schedule, 19) == 5e-3);
  CHECK(!config.verify_resume);
  CHECK(config.ranks == 0);
}

TEST_CASE("flags say what they say", "[flags]") {
  const TrainConfig config =
      parse({"--np=3",  "--no-bias", "--tied-head", "--activation", "gelu_tanh", "--schedule",  "cosine", "--warmup",
             "5",       "--min-lr",  "1e-4",        "--vocab-size", "100",       "--tokenizer", "chars",  "--no-verify-resume",
             "--steps", "7",         "--seed",      "1337"})
          .config;
  CHECK(config.ranks == 3);
  CHECK(!config.model.bias);
  CHECK(config.model.tied_head);
  CHECK(config.model.activation == GeluForm::Tanh);
  CHECK(config.model.seed == 1337);
  CHECK(config.schedule.kind == Schedule::Kind::Cosine);
  CHECK(config.schedule.horizon == 7);
  CHECK(config.asked_vocab_size == 100);
  CHECK(config.tokenizer == Tokenizer::Kind::Chars);
  CHECK(config.verify_resume == false);
  CHECK(config.checkpoint_interval() == 4);  // half the steps, rounded up
  CHECK(parse({"--world-size", "5"}).config.ranks == 5);
}

TEST_CASE("--help lists every flag and every exit code; --version is one line", "[flags]") {
  const std::string help = parse({"--help"}).text.value();
  for (const char* word : {"--steps", "--global-batch-size", "--corpus", "--resume", "--verify-resume", "--np,--world-size",
                           "--metrics", "--summary", "--info", "Model", "Checkpoints", "75 saved", "7 device"}) {
    CHECK_THAT(help, Contains(word));
  }
  CHECK(parse({"--version"}).text.value().rfind("gpt_e2e ", 0) == 0);
}

TEST_CASE("a flag that changes nothing is told what it would need", "[flags]") {
  struct Row {
    std::vector<const char*> words;
    std::vector<std::string> notes;
  };
  const std::vector<Row> rows = {
      {{}, {}},
      {{"--eval-every", "5"}, {"--eval-every changes nothing here: it needs --corpus"}},
      {{"--eval-every", "5", "--corpus", "text"}, {}},
      {{"--horizon", "9"}, {"--horizon changes nothing here: it needs --schedule linear or cosine"}},
      {{"--horizon", "9", "--schedule", "cosine"}, {}},
      {{"--momentum", "0.9", "--nan-rank", "1"},
       {"--nan-rank changes nothing here: it needs --nan-at", "--momentum changes nothing here: it needs --optimizer sgd"}},
      {{"--optimizer", "sgd", "--beta1", "0.8"}, {"--beta1 changes nothing here: it needs --optimizer adamw"}},
      {{"--bucket-bytes", "9", "--no-prefetch"},
       {"--bucket-bytes changes nothing here: it needs --strategy ddp",
        "--no-prefetch changes nothing here: it needs --strategy fsdp or hsdp"}},
      {{"--strategy", "fsdp", "--shard-ranks", "2"}, {"--shard-ranks changes nothing here: it needs --strategy hsdp"}},
      {{"--no-guard", "--retries", "1"}, {"--retries changes nothing here: it needs the guard"}},
      {{"--device", "cuda", "--tf32"}, {}},
      {{"--device", "cuda", "--tf32", "--bf16"}, {"--tf32 changes nothing here: it needs products of f32, without --bf16"}},
      {{"--checkpoint-every", "0", "--checkpoint-dir", "d", "--keep-checkpoints", "2"},
       {"--checkpoint-dir changes nothing here: it needs a checkpoint to be saved, and --checkpoint-every 0 alone saves none",
        "--keep-checkpoints changes nothing here: it needs a checkpoint to be saved, and --checkpoint-every 0 alone saves "
        "none"}},
      {{"--checkpoint-every", "0", "--checkpoint-end", "--checkpoint-dir", "d"}, {}},
      {{"--checkpoint-every", "0", "--checkpoint-minutes", "1", "--checkpoint-async"}, {}},
      {{"--allow-changes"}, {"--allow-changes changes nothing here: it needs --resume"}},
      {{"--steps", "5", "--nan-at", "6"}, {"--nan-at changes nothing here: it needs at least as many --steps"}},
      {{"--steps", "5", "--spike-at", "5"}, {}},
      {{"--quiet", "--log-every", "2"},
       {"--log-every changes nothing here: it needs the report, which --quiet and --json leave out"}},
      {{"--quiet", "--json"}, {"--quiet changes nothing here: it needs the report, which --json leaves out"}},
      {{"--corpus", "text", "--sample", "0", "--top-k", "3"}, {"--top-k changes nothing here: it needs --sample above 0"}},
      {{"--corpus", "text", "--temperature", "0", "--top-k", "3"},
       {"--top-k changes nothing here: it needs --temperature above 0"}},
      {{"--corpus", "text", "--heldout-fraction", "0", "--eval-every", "3"},
       {"--eval-every changes nothing here: it needs --heldout-fraction above 0"}},
      {{"--corpus", "text", "--steps", "5", "--eval-every", "5"},
       {"--eval-every changes nothing here: it needs more --steps, for the last is evaluated in any case"}},
  };
  for (const Row& row : rows) {
    std::vector<const char*> argv = {"gpt_e2e"};
    argv.insert(argv.end(), row.words.begin(), row.words.end());
    CHECK(parse_train_config(static_cast<int>(argv.size()), argv.data()).config.notes == row.notes);
  }
}
