#include "test/emulated_gpu/runtime/knobs.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "test/emulated_gpu/runtime/call.h"

namespace ringlet::emulated_gpu {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

Order order_named(const std::string& name) {
  return name == "reverse" ? Order::Reverse : name == "shuffled" ? Order::Shuffled : Order::Forward;
}

struct Failure {
  uint64_t at;
  cudaError_t error;
};

struct Knobs {
  std::atomic<int> devices{std::stoi(environment("RINGLET_EMULATED_GPUS", "1"))};
  std::atomic<size_t> bytes{std::stoull(environment("RINGLET_EMULATED_GPU_BYTES", "4294967296"))};
  std::atomic<Order> order{order_named(environment("RINGLET_EMULATED_GPU_ORDER", "forward"))};
  std::atomic<bool> racecheck{environment("RINGLET_EMULATED_GPU_RACECHECK", "0") == "1"};
  const bool protects = environment("RINGLET_EMULATED_GPU_PROTECT", "0") == "1";

  std::mutex mutex;
  std::map<std::string, uint64_t, std::less<>> calls;
  std::map<std::string, Failure, std::less<>> failures;

  Knobs() {
    const std::string text = environment("RINGLET_EMULATED_GPU_FAIL", "");
    const size_t first = text.find(':'), second = text.find(':', first + 1);
    if (first != std::string::npos) {
      const std::string name = text.substr(0, first);
      const int error =
          second == std::string::npos
              ? (name.find("alloc") != std::string::npos || name.find("Alloc") != std::string::npos ? cudaErrorMemoryAllocation
                                                                                                    : cudaErrorUnknown)
              : std::stoi(text.substr(second + 1));
      failures[name] = {std::stoull(text.substr(first + 1)), static_cast<cudaError_t>(error)};
    }
  }
};

// Lives as long as the process: streams work until its last moment.
Knobs& knobs() {
  static auto* const instance = new Knobs;
  return *instance;
}

}  // namespace

int device_count() { return knobs().devices; }
size_t device_bytes() { return knobs().bytes; }
Order order() { return knobs().order; }
bool looks_for_races() { return knobs().racecheck; }
bool protects_device_memory() { return knobs().protects; }

void set_device_count(int devices) { knobs().devices = devices; }
void set_device_bytes(size_t bytes) { knobs().bytes = bytes; }
bool set_racecheck(bool looks) { return knobs().racecheck.exchange(looks); }
Order set_order(Order order) { return knobs().order.exchange(order); }

void fail_call(std::string_view name, int n, cudaError_t error) {
  const std::lock_guard lock(knobs().mutex);
  knobs().failures[std::string(name)] = {knobs().calls[std::string(name)] + static_cast<uint64_t>(n), error};
}

void forget_failures() {
  {
    const std::lock_guard lock(knobs().mutex);
    knobs().failures.clear();
  }
  set_lasting_error(cudaSuccess);
  cudaGetLastError();
}

uint64_t calls(std::string_view name) {
  const std::lock_guard lock(knobs().mutex);
  const auto found = knobs().calls.find(name);
  return found == knobs().calls.end() ? 0 : found->second;
}

cudaError_t count_call(std::string_view name) {
  const std::lock_guard lock(knobs().mutex);
  auto counted = knobs().calls.find(name);
  if (counted == knobs().calls.end()) {
    counted = knobs().calls.emplace(name, 0).first;
  }
  ++counted->second;
  const auto failure = knobs().failures.find(name);
  if (failure == knobs().failures.end() || failure->second.at != counted->second) {
    return cudaSuccess;
  }
  const cudaError_t error = failure->second.error;
  knobs().failures.erase(failure);
  return error;
}

}  // namespace ringlet::emulated_gpu
