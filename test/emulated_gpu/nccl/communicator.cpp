#include "test/emulated_gpu/nccl/communicator.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <sstream>
#include <utility>

using ringlet::emulated_gpu::Body;
using ringlet::emulated_gpu::Core;
using ringlet::emulated_gpu::Operator;
using ringlet::emulated_gpu::PlannedFault;
using ringlet::emulated_gpu::Wire;

namespace ringlet::emulated_gpu {
namespace {

constexpr std::chrono::microseconds kMoment(30);  // between a call that does not block and its effect

std::mutex last_error_mutex;
std::string& last_error() {
  static std::string text;
  return text;
}

struct OnStream {
  std::shared_ptr<Core> core;
  Body body;
};
void run_on_stream(void* data) {
  const std::unique_ptr<OnStream> work(static_cast<OnStream*>(data));
  work->body(*work->core);
}

}  // namespace

void set_last_error(const std::string& text) {
  const std::lock_guard lock(last_error_mutex);
  last_error() = text;
}

const char* last_error_text() {
  const std::lock_guard lock(last_error_mutex);
  return last_error().c_str();
}

PlannedFault PlannedFault::from_environment() {
  PlannedFault fault;
  if (const char* text = std::getenv("RINGLET_EMULATED_NCCL_FAIL")) {
    std::istringstream fields(text);
    std::string n, rank;
    std::getline(fields, fault.call, ':');
    std::getline(fields, n, ':');
    std::getline(fields, rank, ':');
    std::getline(fields, fault.how, ':');
    fault.n = std::atoi(n.c_str());
    fault.rank = std::atoi(rank.c_str());
  }
  return fault;
}

}  // namespace ringlet::emulated_gpu

ncclComm::ncclComm(const std::string& name, int ranks, int rank, bool blocking)
    : ranks_(ranks), rank_(rank), blocking_(blocking), core_(std::make_shared<Core>()) {
  int device = 0;
  cudaGetDevice(&device);
  later([this, name, device] { return meet(name, device); });
}

ncclComm::~ncclComm() {
  if (worker_.joinable()) {
    worker_.join();
  }
}

ncclResult_t ncclComm::later(std::function<ncclResult_t()> work) {
  if (worker_.joinable()) {
    worker_.join();
  }
  state_ = ncclInProgress;
  worker_ = std::thread([this, work = std::move(work)] {
    std::this_thread::sleep_for(ringlet::emulated_gpu::kMoment);
    state_ = work();
  });
  if (blocking_) {
    worker_.join();
  }
  return state_.load();
}

ncclResult_t ncclComm::meet(const std::string& name, int device) {
  try {
    core_->wire = std::make_unique<Wire>(name, ranks_, rank_, device);
  } catch (const std::exception& error) {
    ringlet::emulated_gpu::set_last_error(error.what());
    return ncclSystemError;
  }
  while (!core_->wire->all_here()) {
    if (core_->aborted) {
      return ncclInternalError;
    }
    std::this_thread::sleep_for(ringlet::emulated_gpu::kMoment);
  }
  if (const int other = core_->wire->rank_on_same_device(); other >= 0) {
    ringlet::emulated_gpu::set_last_error("Duplicate GPU detected : rank " + std::to_string(rank_) + " and rank " +
                                          std::to_string(other) + " both on CUDA device");
    return ncclInvalidUsage;
  }
  return ncclSuccess;
}

bool ncclComm::is_planned(const char* call) {
  return fault_.rank == rank_ && fault_.call == call && ++calls_[call] == fault_.n;
}

ncclResult_t ncclComm::queue(const char* call, Body body, cudaStream_t stream) {
  if (state_ == ncclInProgress) {
    ringlet::emulated_gpu::set_last_error(std::string(call) + " while another call is in progress");
    return ncclInvalidUsage;
  }
  ncclResult_t result = ncclSuccess;
  if (is_planned(call)) {
    if (fault_.how == "refuse") {
      ringlet::emulated_gpu::set_last_error(std::string(call) + " fails, as planned");
      return ncclSystemError;
    }
    result = fault_.how == "remote" ? ncclRemoteError : ncclSuccess;
    body = [](const Core& core) { core.hang(); };
  }
  return later([core = core_, body = std::move(body), stream, result] {
    auto work = std::make_unique<ringlet::emulated_gpu::OnStream>(core, body);
    if (cudaLaunchHostFunc(stream, ringlet::emulated_gpu::run_on_stream, work.get()) != cudaSuccess) {
      return ncclUnhandledCudaError;
    }
    work.release();  // NOLINT(bugprone-unused-return-value): the stream has it now
    return result;
  });
}

ncclResult_t ncclComm::finalize() {
  return later([] { return ncclSuccess; });
}

void ncclComm::abort() { core_->aborted = true; }

Operator ncclComm::operator_of(ncclRedOp_t op) const {
  if (const auto made = operators_.find(op); made != operators_.end()) {
    return {.op = ncclSum, .scales = true, .factor = made->second};
  }
  return op == ncclAvg ? Operator{.op = ncclSum, .scales = true, .factor = 1.0 / ranks_} : Operator{.op = op};
}

ncclRedOp_t ncclComm::add_operator(double factor) {
  operators_[next_operator_] = factor;
  return static_cast<ncclRedOp_t>(next_operator_++);
}
