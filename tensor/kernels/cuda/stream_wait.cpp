#include "tensor/kernels/cuda/stream_wait.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAwake(1);    // most waits are shorter, and then end at once
constexpr std::chrono::microseconds kNap(50);     // in those that are longer
constexpr std::chrono::milliseconds kLookAll(2);  // between looks, which cost microseconds

// Of the thread; who does not look any more has ended its own.
thread_local std::vector<std::weak_ptr<std::function<void()>>> looks;

void look_all() {
  std::erase_if(looks, [](const auto& one) { return one.expired(); });
  for (size_t i = 0; i < looks.size(); ++i) {
    if (const auto look = looks[i].lock()) {
      (*look)();
    }
  }
}

}  // namespace

std::shared_ptr<void> watch_waits(std::function<void()> look) {
  auto own = std::make_shared<std::function<void()>>(std::move(look));
  looks.emplace_back(own);
  return own;
}

void wait_for_stream() {
  if (looks.empty()) {
    return check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
  }
  const Clock::time_point begin = Clock::now();
  Clock::time_point looked = begin;
  cudaError_t state = cudaSuccess;
  while ((state = cudaStreamQuery(cudaStreamPerThread)) == cudaErrorNotReady) {
    const Clock::time_point now = Clock::now();
    if (now - looked >= kLookAll) {
      looked = now;
      look_all();
    }
    now - begin < kAwake ? std::this_thread::yield() : std::this_thread::sleep_for(kNap);
  }
  check_cuda(state, "cudaStreamQuery");
}

}  // namespace ringlet::kernels::cuda
