#include "apps/training/run_main.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

#include "apps/training/failure.h"
#include "apps/training/launcher.h"
#include "apps/training/parent_death.h"
#include "apps/training/threads.h"
#include "apps/training/warm_heap.h"
#include "collectives/backends/mpi.h"
#include "collectives/factory.h"
#include "dist/sharded_checkpoint.h"

namespace ringlet {
namespace {

void say(const Program& program, const std::string& what) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), what.c_str());
  std::fflush(stderr);
}

// This rank's failure, of which the others may know nothing and wait for ever.
[[noreturn]] void end_job(const Program& program, const Communicator& world, const std::string& what, ExitCode code) {
  if (world.rank() > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  say(program, world.size() > 1 ? message("rank {}: {}", world.rank(), what) : what);
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
                    "--np: contradicts the launcher, got --np {} where {} ranks were started", request.ranks, world.size());
}

int run_rank(const Program& program, const Request& request, const std::exception_ptr& usage_error) {
  const MpiSession session;
  const std::unique_ptr<Communicator> world = make_world("mpi", {.transport = request.transport});
  try {
    agree(*world, [&] {
      if (usage_error != nullptr) {
        std::rethrow_exception(usage_error);
      }
      require_rank_count(request, *world);
    });
    if (request.text) {
      std::fputs(world->rank() == 0 ? request.text->c_str() : "", stdout);
      return to_int(ExitCode::Done);
    }
    if (request.backend != world->name()) {
      const std::unique_ptr<Communicator> other = make_world(request.backend);
      return program.run(*other);
    }
    return program.run(*world);
  } catch (const AgreedFailure& failure) {
    return end_together(program, *world, failure);
  } catch (const CheckpointError& error) {  // dist/ sees to it that every rank throws it
    return end_together(program, *world, error);
  } catch (const BackendUnavailable& error) {
    return end_together(program, *world, error);
  } catch (const std::exception& error) {
    end_job(program, *world, error.what(), exit_code_of(error));
  } catch (...) {
    end_job(program, *world, "an exception that is not a std::exception", ExitCode::Data);
  }
}

}  // namespace

int run_main(const Program& program, int argc, char** argv) {
  sleep_soon_when_waiting(argv);
  keep_heap_warm();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit of its size is an error of the write, which says so
  const bool is_rank = launched_by_mpi();
  if (is_rank) {
    end_with_parent();
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
  } catch (const std::exception& error) {  // MPI itself did not start
    say(program, error.what());
    return to_int(ExitCode::Communication);
  }
}

}  // namespace ringlet
