#include "collectives/transports/process.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string>

#include "tensor/base/check.h"
#include "tensor/base/hash.h"

namespace ringlet {

int this_process() { return getpid(); }

uint64_t process_space() {
  std::array<char, 256> host{}, space{};
  gethostname(host.data(), host.size() - 1);
  if (readlink("/proc/self/ns/pid", space.data(), space.size() - 1) < 0) {
    space[0] = '\0';
  }
  return hash_text(message("{} {}", host.data(), space.data()));
}

int cores_of_this_process() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

int cores_of_this_host() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

// The kernel keeps a process that has ended until its parent asks for the exit code: "1234 (name) Z …". The name may hold anything.
bool is_dead(int process) {
  if (process <= 0) {
    return false;
  }
  if (kill(process, 0) != 0) {
    return errno == ESRCH;
  }
  std::ifstream file(message("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t end_of_name = text.rfind(") ");
  return end_of_name != std::string::npos && (text[end_of_name + 2] == 'Z' || text[end_of_name + 2] == 'X');
}

}  // namespace ringlet
