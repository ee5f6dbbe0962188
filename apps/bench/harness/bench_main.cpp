#include "apps/bench/harness/bench_main.h"

#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "apps/training/device_flag.h"
#include "apps/training/output_file.h"
#include "apps/training/rank_device.h"
#include "apps/training/threads.h"
#include "collectives/backends/mpi.h"
#include "collectives/error.h"

namespace ringlet {
namespace {

std::string device_help(const BenchProgram& program) {
  switch (program.devices) {
    case BenchDevices::CpuAlone: return "only cpu: " + program.why_not_other;
    case BenchDevices::GpuAlone: return "only cuda, the default: " + program.why_not_other;
    default: return program.ranks != BenchRanks::One ? "default: cuda with the backend nccl, else cpu" : "where it computes";
  }
}

void require_right_device(const BenchProgram& program, const std::string& device) {
  const bool wrong = (program.devices == BenchDevices::CpuAlone && device == "cuda") ||
                     (program.devices == BenchDevices::GpuAlone && device == "cpu");
  check<UsageError>(!wrong, "--device: takes only {}, {}, got {}", device == "cpu" ? "cuda" : "cpu", program.why_not_other,
                    device);
}

// Fills `settings`; a text comes back where there is nothing to do but to print it.
std::optional<std::string> parse(const BenchProgram& program, int argc, char** argv, BenchSettings& settings) {
  std::string device = program.devices == BenchDevices::GpuAlone ? "cuda" : "";
  Flags flags(program.name, program.description, kExitCodeHelp);
  flags.group("Measuring");
  if (program.flags) {
    program.flags(flags);
  }
  flags.group("Running");
  if (program.ranks != BenchRanks::One) {
    flags.choice("--backend", settings.backend, {"mpi", "nccl"},
                 "what carries the collectives; nccl: with a GPU for each rank");
    flags.choice("--transport", settings.transport, {"auto", "shm", "mpi"}, "of the backend mpi, as gpt_e2e takes it");
  }
  flags.choice("--device", device, {"cpu", "cuda"}, device_help(program));
  if (program.multiplies) {
    flags.mark("--tf32", settings.tf32, true, kTf32Help);
  }
  flags.text("--json", settings.json, "also write the numbers to this file");
  std::optional<std::string> text = flags.parse(argc, argv);
  if (!text) {
    settings.device = chosen_device(device, settings.backend);
    require_right_device(program, settings.device);
    require_tf32_on_gpu(settings.tf32, settings.device);
    if (program.settle) {
      program.settle(settings);
    }
  }
  return text;
}

void say(const BenchProgram& program, const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), what.c_str());
}

void measure(const BenchProgram& program, const BenchSettings& settings, bool writes) {
  allow_tf32_if(settings.tf32);
  const std::string found = program.run(settings);
  if (writes && !settings.json.empty()) {
    write_whole_file(settings.json, found + "\n");
  }
}

int run_alone(const BenchProgram& program, const BenchSettings& settings) {
  try {
    if (!settings.json.empty()) {
      require_writable("--json", settings.json);
    }
    const RankDevice device(settings.device);
    measure(program, settings, true);
    return to_int(ExitCode::Done);
  } catch (const std::exception& error) {
    say(program, error.what());
    return to_int(exit_code_of(error));
  }
}

int run_ranks(const BenchProgram& program, const BenchSettings& settings, const std::exception_ptr& usage_error) {
  if (const std::string fault = mpi_environment_fault(); !fault.empty()) {
    if (launcher_rank() == 0) {
      say(program, fault);
    }
    return to_int(ExitCode::Usage);
  }
  const MpiSession session;
  int rank = 0;
  const auto end_together = [&](const std::exception& error) {
    if (rank == 0) {
      say(program, error.what());
    }
    return to_int(exit_code_of(error));
  };
  try {
    std::unique_ptr<Communicator> world = make_mpi_world(MpiTransport::Messages);
    rank = world->rank();
    agree(*world, [&] {
      if (usage_error != nullptr) {
        std::rethrow_exception(usage_error);
      }
      if (rank == 0 && !settings.json.empty()) {
        require_writable("--json", settings.json);
      }
    });
    const RankDevice device(settings.device, *world);
    world.reset();  // nothing of it is there while something is measured
    measure(program, settings, rank == 0);
    return to_int(ExitCode::Done);
  } catch (const AgreedFailure& error) {
    return end_together(error);
  } catch (const BackendUnavailable& error) {
    return end_together(error);
  } catch (const std::exception& error) {
    say(program, message("rank {}: {}", rank, error.what()));
    abort_world(to_int(exit_code_of(error)));
  }
}

}  // namespace

std::unique_ptr<Communicator> BenchSettings::world(WorldOptions options) const {
  options.transport = transport;
  options.device = on_gpu() ? Device::Kind::Cuda : Device::Kind::Cpu;
  return make_world(backend, options);
}

int bench_main(const BenchProgram& program, int argc, char** argv) {
  sleep_soon_when_waiting(argv);
  BenchSettings settings;
  std::exception_ptr usage_error;
  try {
    if (const std::optional<std::string> text = parse(program, argc, argv, settings)) {
      std::fputs(launched_by_mpi() && launcher_rank() != 0 ? "" : text->c_str(), stdout);
      return to_int(ExitCode::Done);
    }
  } catch (const Error& error) {
    if (program.ranks != BenchRanks::OfJob || !launched_by_mpi()) {
      say(program, error.what());
      return to_int(ExitCode::Usage);
    }
    usage_error = std::make_exception_ptr(UsageError(error.what()));
  }
  return program.ranks == BenchRanks::OfJob ? run_ranks(program, settings, usage_error) : run_alone(program, settings);
}

}  // namespace ringlet
