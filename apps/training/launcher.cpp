#include "apps/training/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "apps/training/exit_code.h"
#include "apps/training/parent_death.h"
#include "apps/training/standard_files.h"

namespace ringlet {
namespace {

// Open MPI 4 (OMPI_…) and 5 (PRTE_…, also through OMPI_ALLOW_…): as root, more ranks than cores, threads free to use any core.
constexpr std::array<std::array<const char*, 2>, 8> kEnvironment = {{
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
}};

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile sig_atomic_t job_process = 0;  // a signal handler can reach nothing else
volatile sig_atomic_t job_signal = 0;   // the first signal that was to end the job

// mpirun answers SIGTERM by killing the ranks a second later; SIGUSR1 it hands on and waits. So the first SIGTERM reaches them as SIGUSR1:
// they save, or, where nobody listens for it, end by it. A second one ends mpirun.
extern "C" void pass_on(int signal) {
  const bool first = job_signal == 0;
  if (first && (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)) {
    job_signal = signal;
  }
  if (job_process > 0) {
    kill(static_cast<pid_t>(job_process), signal == SIGTERM && first ? SIGUSR1 : signal);
  }
}

// Both ends of a pipe that mpirun does not inherit, or -1.
struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      ends = {-1, -1};
    }
  }
  int reading() const { return ends[0]; }
  int writing() const { return ends[1]; }
  std::array<int, 2> ends{};
};

// Where ranks tell that they have started: the file /proc/PID/fd/N of the launcher, a pipe. Empty where there is no /proc.
constexpr const char* kLauncher = "RINGLET_LAUNCHER";

// In the child. A process group of its own, so that the terminal's Ctrl-C reaches mpirun once, through us.
[[noreturn]] void become_mpirun(int ranks, int argc, char** argv, int error_pipe, int output) {
  setpgid(0, 0);
  end_with_parent(SIGTERM);
  dup2(output, STDOUT_FILENO);
  if (const int null = open("/dev/null", O_RDONLY); null >= 0) {
    dup2(null, STDIN_FILENO);  // a background group that reads the terminal is stopped
  }
  for (const auto& variable : kEnvironment) {
    setenv(variable[0], variable[1], 0);
  }
  std::array<char, 4096> self{};
  if (readlink("/proc/self/exe", self.data(), self.size() - 1) <= 0) {
    std::snprintf(self.data(), self.size(), "%s", argv[0]);
  }
  std::string count = std::to_string(ranks);
  std::array<std::string, 3> words = {"mpirun", "-q", "-np"};  // quiet: ten lines of its own would follow each message of ours
  std::vector<char*> command = {words[0].data(), words[1].data(), words[2].data(), count.data(), self.data()};
  command.insert(command.end(), argv + 1, argv + argc);
  command.push_back(nullptr);
  execvp("mpirun", command.data());
  const int error = errno;
  static_cast<void>(!write(error_pipe, &error, sizeof(error)));
  _exit(127);
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

int exit_code_of_job(int wait_status, int signal) {
  const bool saved = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == to_int(ExitCode::SavedAfterSignal);
  if (signal != 0 && !saved) {
    return 128 + signal;
  }
  if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) >= 128) {
    return to_int(ExitCode::Communication);  // 128 + signal: what mpirun returns when a rank was killed
  }
  return WEXITSTATUS(wait_status);
}

namespace {

// How the job ended, in one line where mpirun itself says nothing.
void report(const char* program, int status, int code) {
  if (code != to_int(ExitCode::SavedAfterSignal) && (job_signal == SIGTERM || job_signal == SIGHUP)) {
    std::fprintf(stderr, "%s: ended by %s; a run goes on from its last checkpoint with --resume\n", program,
                 job_signal == SIGTERM ? "SIGTERM" : "SIGHUP");
  }
  const int said = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == to_int(ExitCode::Unavailable) && said != code) {
    std::fprintf(stderr, "%s: mpirun has started no rank (it says %d)\n", program, said);
  } else if (job_signal == 0 && said >= 128) {
    std::fprintf(stderr, "%s: a rank was killed (mpirun says %d): communication failed\n", program, said);
  }
}

// mpirun's own failures, of which it returns 1 or a number that is no exit code of ours, are not those of ranks.
int code_unless_none_started(int code, int status, const Pipe& started) {
  char word = 0;
  const bool ours = WIFEXITED(status) && WEXITSTATUS(status) != 1 && WEXITSTATUS(status) < 128;
  const bool none = std::getenv(kLauncher) != nullptr && read(started.reading(), &word, 1) != 1;
  return job_signal == 0 && !ours && none ? to_int(ExitCode::Unavailable) : code;
}

void listen_for_ranks(const Pipe& started) {
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(started.writing());
  fcntl(started.reading(), F_SETFL, O_NONBLOCK);
  if (access(path.c_str(), W_OK) == 0) {
    setenv(kLauncher, path.c_str(), 1);
  } else {
    unsetenv(kLauncher);
  }
}

}  // namespace

void tell_launcher_of_start() {
  const char* path = std::getenv(kLauncher);
  const int file = path == nullptr ? -1 : open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (file >= 0) {
    static_cast<void>(!write(file, "", 1));
    close(file);
  }
}

int launch(int ranks, int argc, char** argv) {
  const Pipe error_pipe, output, started;
  if (error_pipe.reading() < 0 || output.reading() < 0 || started.reading() < 0) {
    std::fprintf(stderr, "%s: pipe: %s\n", argv[0], std::strerror(errno));
    return to_int(ExitCode::Unavailable);
  }
  listen_for_ranks(started);
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process == 0) {
    become_mpirun(ranks, argc, argv, error_pipe.writing(), output.writing());
  }
  job_process = process;
  struct sigaction action = {};
  action.sa_handler = pass_on;
  for (const int signal : kForwarded) {
    sigaction(signal, &action, nullptr);
  }
  close(error_pipe.writing());
  close(output.writing());
  int error = 0;
  if (process < 0 || read(error_pipe.reading(), &error, sizeof(error)) == static_cast<ssize_t>(sizeof(error))) {
    std::fprintf(stderr, "%s: cannot start mpirun: %s. Install Open MPI (Debian: apt-get install openmpi-bin)\n", argv[0],
                 std::strerror(process < 0 ? errno : error));
    return to_int(ExitCode::Unavailable);
  }
  const int unprinted = relay(output.reading(), STDOUT_FILENO);  // mpirun would not tell that a disk is full
  const int status = wait_for(process);
  const int code = code_unless_none_started(exit_code_of_job(status, job_signal), status, started);
  report(argv[0], status, code);
  if (unprinted != 0) {
    std::fprintf(stderr, "%s: %s: %s\n", argv[0], kNotPrinted, std::strerror(unprinted));
    return code == to_int(ExitCode::Done) ? to_int(ExitCode::Data) : code;
  }
  return code;
}

}  // namespace ringlet
