#include "apps/training/threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "collectives/backends/mpi.h"
#include "collectives/control_scope.h"
#include "tensor/base/hash.h"
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace ringlet {
namespace {

constexpr size_t kMaskWords = sizeof(cpu_set_t) / sizeof(int64_t);

std::string host_name() {
  std::ifstream file("/proc/sys/kernel/hostname");
  std::string name;
  std::getline(file, name);
  return name;
}

// The CPU bandwidth that the container may use, in cores; 0 when it is not limited (cgroup v2: "quota period" or "max period").
int quota_in_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0.0, period = 0.0;
  return file >> quota >> period && period > 0.0 ? static_cast<int>(std::ceil(quota / period)) : 0;
}

// The cores that the ranks of this host may run on together: mpirun may have bound each to its own.
int cores_of_host(Communicator& world) {
  std::vector<int64_t> mine(1 + kMaskWords);
  mine[0] = static_cast<int64_t>(hash_text(host_name()));
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    std::memcpy(mine.data() + 1, &mask, sizeof(mask));
  }
  std::vector<int64_t> all(mine.size() * static_cast<size_t>(world.size()));
  const ControlScope control(world);
  world.all_gather(mine, all);
  std::bitset<8 * sizeof(cpu_set_t)> together;
  for (size_t begin = 0; begin < all.size(); begin += mine.size()) {
    for (size_t bit = 0; all[begin] == mine[0] && bit < together.size(); ++bit) {
      together[bit] = together[bit] || (all[begin + 1 + bit / 64] >> (bit % 64) & 1) != 0;
    }
  }
  const int cores = std::max(1, static_cast<int>(together.count()));
  const int quota = quota_in_cores();
  return quota > 0 ? std::min(cores, quota) : cores;
}

int64_t threads_from_environment() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  return text == nullptr ? 0 : std::max<int64_t>(0, std::atoll(text));  // a list "4,2" counts with its first number
}

}  // namespace

ThreadChoice share_of_cores(int cores, int ranks_on_host, int64_t from_environment, int64_t asked) {
  ThreadChoice choice = {
      .threads = std::max(1, cores / ranks_on_host), .ranks_on_host = ranks_on_host, .cores = cores, .why = {}};
  choice.why =
      message("{} {} / {} {}", cores, cores == 1 ? "core" : "cores", ranks_on_host, ranks_on_host == 1 ? "rank" : "ranks");
  if (asked > 0) {
    choice.threads = static_cast<int>(asked);
    choice.why = "--threads";
  } else if (from_environment > 0 && from_environment <= choice.threads) {
    choice.threads = static_cast<int>(from_environment);
    choice.why = "OMP_NUM_THREADS";
  } else if (from_environment > choice.threads) {
    choice.why += message("; OMP_NUM_THREADS={} would oversubscribe them", from_environment);
  }
  return choice;
}

void sleep_soon_when_waiting([[maybe_unused]] char** argv) {
#if defined(_OPENMP)
  std::array<char, 4096> self{};
  if (std::getenv("GOMP_SPINCOUNT") == nullptr && std::getenv("OMP_WAIT_POLICY") == nullptr &&
      readlink("/proc/self/exe", self.data(), self.size() - 1) > 0 && setenv("GOMP_SPINCOUNT", "1000", 0) == 0) {
    execv(self.data(), argv);  // returns only if it fails: then waits are merely longer
  }
#endif
}

ThreadChoice choose_threads(Communicator& world, int64_t asked) {
  const int ranks_on_host = world.name() == "mpi" ? place_on_host().size : 1;
  ThreadChoice choice = share_of_cores(cores_of_host(world), ranks_on_host, threads_from_environment(), asked);
#if defined(_OPENMP)
  omp_set_num_threads(choice.threads);
#else
  choice.threads = 1;
  choice.why = "built without OpenMP";
#endif
  return choice;
}

std::string ThreadChoice::text(int ranks) const {
  return message("{} {} x {} {} ({})", ranks, ranks == 1 ? "rank" : "ranks", threads, threads == 1 ? "thread" : "threads", why);
}

}  // namespace ringlet
