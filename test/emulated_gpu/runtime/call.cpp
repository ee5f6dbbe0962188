#include "test/emulated_gpu/runtime/call.h"

#include <atomic>
#include <utility>

namespace ringlet::emulated_gpu {
namespace {

std::atomic<cudaError_t> lasting{cudaSuccess};
thread_local cudaError_t last = cudaSuccess;

}  // namespace

cudaError_t lasting_error() { return lasting; }
void set_lasting_error(cudaError_t error) { lasting = error; }

cudaError_t leave(cudaError_t error) {
  if (error != cudaSuccess) {
    last = error;
  }
  return error;
}

}  // namespace ringlet::emulated_gpu

using namespace ringlet::emulated_gpu;

cudaError_t cudaGetLastError() {
  const cudaError_t error = std::exchange(last, cudaSuccess);
  return lasting_error() != cudaSuccess ? lasting_error() : error;
}

cudaError_t cudaPeekAtLastError() { return lasting_error() != cudaSuccess ? lasting_error() : last; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define RINGLET_CASE(name, value, text) \
  case name: return #name;
    RINGLET_CUDA_ERRORS(RINGLET_CASE)
#undef RINGLET_CASE
  }
  return "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define RINGLET_CASE(name, value, text) \
  case name: return text;
    RINGLET_CUDA_ERRORS(RINGLET_CASE)
#undef RINGLET_CASE
  }
  return "unrecognized error code";
}
