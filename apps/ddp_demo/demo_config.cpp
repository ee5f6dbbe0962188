#include "apps/ddp_demo/demo_config.h"

#include <filesystem>
#include <limits>

#include "apps/training/device_flag.h"
#include "apps/training/flags.h"
#include "apps/training/output_file.h"
#include "apps/training/settings.h"
#include "collectives/backends/mpi.h"

namespace ringlet {

std::optional<std::string> parse_demo_config(int argc, const char* const* argv, DemoConfig& config) {
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  Flags flags("ddp_demo", "Data parallel and FSDP from scratch: averages gradients over ranks, and proves that it is right.",
              kExitCodeHelp);
  flags.group("Training");
  flags.whole("--num-steps", config.num_steps, 1, 1000000, "steps");
  flags.whole("--batch-size", config.batch_size, 1, 1 << 20, "samples over all ranks; rank r takes its slice");
  flags.real("--lr", config.lr, {.low = 0.0, .high = std::numeric_limits<double>::infinity(), .with_low = false},
             "learning rate of SGD");
  flags.whole("--seed", config.seed, 0, kMost / 2, "of data and parameters");
  flags.group("Running");
  flags.whole("--world-size,--np", config.ranks, 1, 4096,
              "ranks: starts itself under mpirun, 2 if not given; under mpirun it must agree");
  flags.choice("--backend", config.backend, {"mpi", "nccl"}, "what carries the collectives");
  std::string device;
  flags.choice("--device", device, {"cpu", "cuda"}, "where ranks compute; default: cuda with the backend nccl, else cpu");
  flags.text("--output", config.output, "JSON, at the end; its folder is made");
  flags.mark("--no-write", config.write, false, "write no file");
  communication_flags(flags, config.communication);
  const std::optional<std::string> text = flags.parse(argc, argv);
  check<UsageError>(config.write || !flags.given("--output"), "--no-write and --output contradict each other");
  config.device = chosen_device(device, config.backend);
  if (config.ranks == 0 && !launched_by_mpi()) {
    config.ranks = 2;
  }
  return text;
}

void prepare(const DemoConfig& config, Communicator& world) {
  require_same_settings(world, {{"--num-steps", to_text(config.num_steps)},
                                {"--batch-size", to_text(config.batch_size)},
                                {"--lr", to_text(config.lr)},
                                {"--seed", to_text(config.seed)},
                                {"--trace", to_text(!config.communication.trace.empty())},
                                {"--ledger", to_text(config.communication.ledger)}});
  agree(world, [&] {
    if (world.rank() == 0 && !config.communication.trace.empty()) {
      require_different_files({{"--output", config.write ? config.output : ""}, {"--trace", config.communication.trace}});
      require_writable("--trace", config.communication.trace);
    }
    if (!config.write || world.rank() != 0) {
      return;
    }
    const std::filesystem::path folder = std::filesystem::path(config.output).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
      std::filesystem::create_directories(folder, error);
      check<UsageError>(!error, "--output: the folder of {} cannot be made: {}", config.output, error.message());
    }
    require_writable("--output", config.output);
  });
}

}  // namespace ringlet
