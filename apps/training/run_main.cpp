#include "apps/training/run_main.h"
#include "apps/training/rank_device.h"

#include <chrono>
#include <csignal>
#include <cstdio>
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
[[noreturn]] void end_job(const Program& program, const Started& started, const std::string& what, ExitCode code,
                          int blamed = -1) {
  const Communicator& world = *started.world;
  CallHistory& history = *started.recorder.history;
  if (world.rank() > (blamed == 0 ? 1 : 0) || history.said_farewell(blamed)) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  say(program, world.size() > 1 ? message("rank {}: {}", world.rank(), what) : what);
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

// Whoever waits for ranks that do not start says so.
Started start_world(const Program& program, const Request& request, std::optional<MpiSession>& session) {
  const CommunicationConfig& config = request.communication;
  const StartWatch watch(config.deadline(), [&] {
    say(program, message("start: rank {} waits, but not all ranks have come within the deadline of {} s", launcher_rank(),
                         config.timeout_s));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the others who wait say so too: whoever does not is missing
    std::_Exit(to_int(ExitCode::Communication));
  });
  session.emplace();
  std::unique_ptr<Communicator> world =
      make_world("mpi", {.deadline = config.deadline(), .transport = request.transport, .algorithms = config.algorithms()});
  Recorder recorder = recorder_for(config, *world);
  recorder.begin_phase(kPhaseStart);
  return {make_recorded(std::move(world), recorder), recorder};
}

int run_program(const Program& program, const Request& request, const Started& started) {
  const RankDevice device(request.device, *started.world);
  allow_tf32_if(request.tf32);
  if (request.backend == started.world->name() && request.device == "cpu") {
    return program.run(*started.world, started.recorder);
  }
  std::unique_ptr<Communicator> other = make_world(request.backend, {.deadline = request.communication.deadline(),
                                                                     .transport = request.transport,
                                                                     .algorithms = request.communication.algorithms()});
  if (request.backend != "nccl") {
    other = carrying_device_memory(std::move(other));
  }
  const std::unique_ptr<Communicator> recorded = make_recorded(std::move(other), started.recorder);
  return program.run(*recorded, started.recorder);
}

int run_rank(const Program& program, const Request& request, const std::exception_ptr& usage_error) {
  std::optional<MpiSession> session;
  const Started started = start_world(program, request, session);
  Communicator& world = *started.world;
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
    return run_program(program, request, started);
  } catch (const AgreedFailure& failure) {
    return end_together(program, world, failure);
  } catch (const CheckpointError& error) {  // dist/ sees to it that every rank throws it
    return end_together(program, world, error);
  } catch (const BackendUnavailable& error) {
    return end_together(program, world, error);
  } catch (const CommError& error) {
    const std::string folder = calls_folder.empty() ? new_call_history_folder(program.name) : calls_folder;
    end_job(program, started, message("{}\n{}", error.what(), write_call_histories(*started.recorder.history, folder)),
            exit_code_of(error), error.where().group == "world" ? error.peer() : -1);
  } catch (const std::exception& error) {
    end_job(program, started, error.what(), exit_code_of(error));
  } catch (...) {
    end_job(program, started, "an exception that is not a std::exception", ExitCode::Data);
  }
}

}  // namespace

int run_main(const Program& program, int argc, char** argv) {
  sleep_soon_when_waiting(argv);
  keep_heap_warm();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit of its size is an error of the write, which says so
  const bool is_rank = launched_by_mpi();
  if (is_rank) {
    end_with_parent(SIGKILL);  // SIGTERM would ask it to save, of ranks that nobody watches any more
    Faults::before_start(launcher_rank());
  }
  Request request;
  std::exception_ptr usage_error;
  try {
    request = program.parse(argc, argv);
  } catch (const UsageError& error) {
    if (!is_rank) {
      say(program, error.what());
      return to_int(ExitCode::Usage);
    }
    usage_error = std::current_exception();
  }
  if (!is_rank && request.text) {
    std::fputs(request.text->c_str(), stdout);
    return to_int(ExitCode::Done);
  }
  if (!is_rank && request.ranks > 1) {
    return launch(static_cast<int>(request.ranks), argc, argv);
  }
  try {
    const int code = run_rank(program, request, usage_error);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      say(program, "standard output: what was to be printed could not be written");
      return code == to_int(ExitCode::Done) ? to_int(ExitCode::Data) : code;
    }
    return code;
  } catch (const std::exception& error) {  // there is no world: MPI did not start, or no transport fits
    if (is_rank && launcher_rank() > 0) {
      std::this_thread::sleep_for(std::chrono::seconds(2));  // rank 0 says the same, and ends all
    }
    say(program, error.what());
    abort_world(to_int(ExitCode::Communication));
  }
}

}  // namespace ringlet
