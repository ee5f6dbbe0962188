// Copies and fills, on a stream.
//
// What is pinned or on a device is read and written when the stream comes to it. Pageable memory goes through a buffer: it is read
// before the call returns, and written before the call returns.
#include <cstring>
#include <memory>
#include <vector>

#include "test/emulated_gpu/runtime/call.h"
#include "test/emulated_gpu/runtime/memory.h"
#include "test/emulated_gpu/runtime/stream.h"

using namespace ringlet::emulated_gpu;

namespace {

bool fits(cudaMemcpyKind kind, const void* to, const void* from) {
  switch (kind) {
    case cudaMemcpyHostToHost: return !is_on_device(to) && !is_on_device(from);
    case cudaMemcpyHostToDevice: return is_on_device(to) && !is_on_device(from);
    case cudaMemcpyDeviceToHost: return !is_on_device(to) && is_on_device(from);
    case cudaMemcpyDeviceToDevice: return is_on_device(to) && is_on_device(from);
    case cudaMemcpyDefault: return true;
  }
  return false;
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
  if (bytes == 0) {
    return cudaSuccess;
  }
  if (to == nullptr || from == nullptr || !fits(kind, to, from) || !holds(to, bytes) || !holds(from, bytes)) {
    return cudaErrorInvalidValue;
  }
  const auto stream = find_stream(handle);
  if (!stream) {
    return cudaErrorInvalidResourceHandle;
  }
  if (is_pageable(from) && !stream->capture) {
    const auto* begin = static_cast<const char*>(from);
    const auto staged = std::make_shared<std::vector<char>>(begin, begin + bytes);
    return submit(handle, [=] { std::memcpy(to, staged->data(), bytes); });
  }
  const cudaError_t error = submit(handle, [=] { std::memmove(to, from, bytes); });
  if (error == cudaSuccess && is_pageable(to) && !stream->capture) {
    stream->finish();
  }
  return error;
}

cudaError_t fill(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (!is_on_device(to) || !holds(to, bytes)) {
    return bytes == 0 ? cudaSuccess : cudaErrorInvalidValue;
  }
  return submit(stream, [=] { std::memset(to, value, bytes); });
}

}  // namespace

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return runtime_call("cudaMemcpyAsync", [&] { return copy(to, from, bytes, kind, stream); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return runtime_call("cudaMemcpy", [&] { return copy(to, from, bytes, kind, nullptr); });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return runtime_call("cudaMemsetAsync", [&] { return fill(to, value, bytes, stream); });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return runtime_call("cudaMemset", [&] { return fill(to, value, bytes, nullptr); });
}
