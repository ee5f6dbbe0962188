#include "apps/training/run_main.h"
#include "apps/training/rank_device.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <thread>

#include "apps/training/call_history_file.h"
#include "apps/training/communication_report.h"
#include "apps/training/counted.h"
#include "apps/training/failure.h"
#include "apps/training/faults.h"
#include "apps/training/launcher.h"
#include "apps/training/parent_death.h"
#include "apps/training/settings.h"
#include "apps/training/standard_files.h"
#include "apps/training/start_watch.h"
#include "apps/training/threads.h"
#include "apps/training/warm_heap.h"
#include "collectives/backends/mpi.h"
#include "collectives/factory.h"
#include "dist/agreement.h"
#include "dist/sharded_checkpoint.h"

namespace ringlet {
namespace {

void say(const Program& program, const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), what.c_str());
  std::fflush(stderr);
}

// A world whose calls are recorded.
struct Started {
  std::unique_ptr<Communicator> world;
  Recorder recorder;
};

// This rank's failure, of which the others may know nothing and wait for ever. Rank 0 speaks at once, unless it may be dead itself;
// so does nobody where the failure is the end of a rank that has spoken.
int end_job(const Program& program, const Started& started, const std::string& what, ExitCode code, int blamed = -1) {
  const Communicator& world = *started.world;
  if (world.size() == 1) {  // nobody waits: MPI may finish, instead of telling that it was aborted
    say(program, what);
    return to_int(code);
  }
  CallHistory& history = *started.recorder.history;
  if (world.rank() > (blamed == 0 ? 1 : 0) || history.said_farewell(blamed)) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  say(program, message("rank {}: {}", world.rank(), what));
  history.say_farewell();
  abort_world(to_int(code));
}

int end_together(const Program& program, const Communicator& world, const std::exception& error) {
  if (world.rank() == 0) {
    say(program, error.what());
  }
  return to_int(exit_code_of(error));
}

void require_rank_count(const Request& request, const Communicator& world) {
  check<UsageError>(request.ranks == 0 || request.ranks == world.size(),
                    "--np: contradicts the launcher, got --np {} where {} started", request.ranks,
                    counted(world.size(), "rank") + (world.size() == 1 ? " was" : " were"));
}

Recorder recorder_for(const CommunicationConfig& config, const Communicator& world) {
  return {.history = mpi_call_history(world),
          .ledger = config.ledger ? std::make_shared<Ledger>() : nullptr,
          .timeline = config.trace.empty() ? nullptr : std::make_shared<Timeline>()};
}

// Where MPI cannot start it ends the process itself, with 1, which is another exit code of ours.
volatile std::sig_atomic_t in_mpi_init = 0;  // what is called at exit can reach nothing else

void exit_in_mpi_init() {
  if (in_mpi_init != 0) {
    std::fputs("MPI could not start, for the reason above\n", stderr);
    std::_Exit(to_int(ExitCode::Unavailable));
  }
}

// Whoever waits for ranks that do not start says so.
Started start_world(const Program& program, const Request& request, std::optional<MpiSession>& session) {
  const CommunicationConfig& config = request.communication;
  const StartWatch watch(config.deadline(), [&] {
    say(program, message("start: rank {} waits, but not all ranks have come within the deadline of {} s", launcher_rank(),
                         config.timeout_s));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the others who wait say so too: whoever does not is missing
    std::_Exit(to_int(ExitCode::Communication));
  });
  std::atexit(exit_in_mpi_init);
  in_mpi_init = 1;
  session.emplace();
  in_mpi_init = 0;
  std::unique_ptr<Communicator> world =
      make_world("mpi", {.deadline = config.deadline(), .transport = request.transport, .algorithms = config.algorithms()});
  Recorder recorder = recorder_for(config, *world);
  recorder.begin_phase(kPhaseStart);
  return {make_recorded(std::move(world), recorder), recorder};
}

// `carrier` outlives what the program throws: a rank that fails must not be seen to leave before it has said why.
int run_program(const Program& program, const Request& request, const Started& started,
                std::unique_ptr<Communicator>& carrier) {
  const RankDevice device(request.device, *started.world);
  allow_tf32_if(request.tf32);
  if (request.backend == started.world->name() && request.device == "cpu") {
    return program.run(*started.world, started.recorder);
  }
  carrier = make_world(request.backend, {.deadline = request.communication.deadline(),
                                         .transport = request.transport,
                                         .algorithms = request.communication.algorithms()});
  if (request.backend != "nccl") {
    carrier = carrying_device_memory(std::move(carrier));
  }
  carrier = make_recorded(std::move(carrier), started.recorder);
  return program.run(*carrier, started.recorder);
}

int run_rank(const Program& program, const Request& request, const std::exception_ptr& usage_error) {
  std::optional<MpiSession> session;
  const Started started = start_world(program, request, session);
  Communicator& world = *started.world;
  std::unique_ptr<Communicator> carrier;
  std::string calls_folder = request.communication.call_history;
  try {
    agree(world, [&] {
      if (usage_error != nullptr) {
        std::rethrow_exception(usage_error);
      }
      require_rank_count(request, world);
    });
    if (request.text) {
      std::fputs(world.rank() == 0 ? request.text->c_str() : "", stdout);
      return to_int(ExitCode::Done);
    }
    if (world.rank() == 0 && world.size() > 1 && !mpi_allows_threads()) {
      say(program, message("warning: MPI grants thread level {}, not serialized: messages do not overlap with computation",
                           session->thread_level()));
    }
    if (calls_folder.empty()) {
      calls_folder = broadcast_text(world, new_call_history_folder(program.name), 0);
    }
    require_same_settings(world,
                          {{"--backend", request.backend}, {"--device", request.device}, {"--tf32", to_text(request.tf32)}});
    return run_program(program, request, started, carrier);
  } catch (const AgreedFailure& failure) {
    return end_together(program, world, failure);
  } catch (const CheckpointError& error) {  // dist/ sees to it that every rank throws it
    return end_together(program, world, error);
  } catch (const BackendUnavailable& error) {
    return end_together(program, world, error);
  } catch (const CommError& error) {
    const std::string folder = calls_folder.empty() ? new_call_history_folder(program.name) : calls_folder;
    return end_job(program, started, message("{}\n{}", error.what(), write_call_histories(*started.recorder.history, folder)),
                   exit_code_of(error), error.where().group == "world" ? error.peer() : -1);
  } catch (const std::exception& error) {
    return end_job(program, started, error.what(), exit_code_of(error));
  } catch (...) {
    return end_job(program, started, "an exception that is not a std::exception", ExitCode::Data);
  }
}

// `code`, unless what was printed did not all arrive.
int code_after_printing(const Program& program, int code) {
  if (all_was_printed()) {
    return code;
  }
  say(program, kNotPrinted);
  return code == to_int(ExitCode::Done) ? to_int(ExitCode::Data) : code;
}

// What flags and environment ask for, or what is wrong with them.
struct Asked {
  Request request{};
  std::exception_ptr usage_error{};
};

Asked read_request(const Program& program, int argc, char** argv, bool is_rank) {
  Asked asked;
  try {
    const std::optional<Fault> fault = Fault::from_environment();
    asked.request = program.parse(argc, argv);
    if (is_rank) {
      Faults::before_start(fault, launcher_rank());
    }
  } catch (const UsageError& error) {
    if (!is_rank) {
      say(program, error.what());
    }
    asked.usage_error = std::current_exception();
  }
  return asked;
}

}  // namespace

int run_main(const Program& program, int argc, char** argv) {
  keep_standard_files();
  sleep_soon_when_waiting(argv);
  keep_heap_warm();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit of its size is an error of the write, which says so
  const bool is_rank = launched_by_mpi();
  if (is_rank) {
    end_with_parent(SIGKILL);  // SIGTERM would ask it to save, of ranks that nobody watches any more
    tell_launcher_of_start();
  }
  if (const std::string fault = mpi_environment_fault(); !fault.empty()) {
    if (launcher_rank() == 0) {
      say(program, fault);
    }
    return to_int(ExitCode::Usage);
  }
  const auto [request, usage_error] = read_request(program, argc, argv, is_rank);
  if (!is_rank && usage_error != nullptr) {
    return to_int(ExitCode::Usage);
  }
  if (!is_rank && request.text) {
    std::fputs(request.text->c_str(), stdout);
    return code_after_printing(program, to_int(ExitCode::Done));
  }
  if (!is_rank && request.ranks > 1) {
    return launch(static_cast<int>(request.ranks), argc, argv);
  }
  try {
    return code_after_printing(program, run_rank(program, request, usage_error));
  } catch (const std::exception& error) {  // there is no world: MPI did not start, or no transport fits
    if (is_rank && launcher_rank() > 0) {
      std::this_thread::sleep_for(std::chrono::seconds(2));  // rank 0 says the same, and ends all
    }
    say(program, error.what());
    abort_world(to_int(ExitCode::Communication));
  }
}

}  // namespace ringlet
