// The emulated runtime keeps CUDA's promises, and no more than those: what is not ordered by an event has no order.
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include "tensor/kernels/cuda/launch.h"
#include "test/emulated_gpu/control.h"
#include "test/gpu/device_vector.h"
#include "test/gpu/run_again.h"
#include "test/support/catch.h"

using namespace ringlet::kernels::cuda;
namespace emulated = ringlet::emulated_gpu;
using Catch::Matchers::Contains;

namespace {

// Keeps a stream from going on until it is opened.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) {
    const auto wait = [](void* open) {
      while (!*static_cast<std::atomic<bool>*>(open)) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    };
    REQUIRE(cudaLaunchHostFunc(stream, wait, &open_) == cudaSuccess);
  }
  ~Gate() { open(); }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

struct TwoStreams {
  cudaStream_t a = nullptr, b = nullptr;
  cudaEvent_t event = nullptr;
  TwoStreams() {
    REQUIRE(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking) == cudaSuccess);
    REQUIRE(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1) == cudaSuccess);
    REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  }
  ~TwoStreams() {
    cudaEventDestroy(event);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
};

struct Pinned {
  int* data = nullptr;
  explicit Pinned(int value) {
    REQUIRE(cudaMallocHost(&data, sizeof(int)) == cudaSuccess);
    *data = value;
  }
  ~Pinned() { cudaFreeHost(data); }
};

__global__ void add_one(int* x) { *x += 1; }
__global__ void take_shared(int* x) { *x = dynamic_shared<int>() != nullptr ? 1 : 0; }

}  // namespace

TEST_CASE("work on another stream is seen only behind its event", "[emulated_runtime]") {
  TwoStreams streams;
  const DeviceVector<int> x(std::vector<int>{1});
  for (const bool waits : {false, true}) {
    const Pinned seen(0);
    Gate gate(streams.a);
    REQUIRE(cudaMemsetAsync(x.data(), waits ? 0x02 : 0x03, sizeof(int), streams.a) == cudaSuccess);
    REQUIRE(cudaEventRecord(streams.event, streams.a) == cudaSuccess);
    CHECK(cudaEventQuery(streams.event) == cudaErrorNotReady);
    CHECK(cudaGetLastError() == cudaErrorNotReady);
    if (waits) {
      REQUIRE(cudaStreamWaitEvent(streams.b, streams.event) == cudaSuccess);
    }
    REQUIRE(cudaMemcpyAsync(seen.data, x.data(), sizeof(int), cudaMemcpyDeviceToHost, streams.b) == cudaSuccess);
    if (waits) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // time to be wrong in
      CHECK(cudaStreamQuery(streams.b) == cudaErrorNotReady);
      gate.open();
    }
    REQUIRE(cudaStreamSynchronize(streams.b) == cudaSuccess);
    CHECK(*seen.data == (waits ? 0x02020202 : 1));
    gate.open();
    REQUIRE(cudaEventSynchronize(streams.event) == cudaSuccess);
  }
}

TEST_CASE("a copy reads pinned memory when its turn comes, pageable memory at once", "[emulated_runtime]") {
  TwoStreams streams;
  const DeviceVector<int> x(1), y(1);
  const Pinned pinned(1);
  int pageable = 1;
  Gate gate(streams.a);
  REQUIRE(cudaMemcpyAsync(x.data(), pinned.data, sizeof(int), cudaMemcpyHostToDevice, streams.a) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(y.data(), &pageable, sizeof(int), cudaMemcpyHostToDevice, streams.a) == cudaSuccess);
  CHECK(cudaStreamQuery(streams.a) == cudaErrorNotReady);
  *pinned.data = pageable = 2;
  gate.open();
  REQUIRE(cudaStreamSynchronize(streams.a) == cudaSuccess);
  CHECK(x.values()[0] == 2);
  CHECK(y.values()[0] == 1);
}

TEST_CASE("each host thread has a stream of its own", "[emulated_runtime]") {
  const DeviceVector<int> x(std::vector<int>{0});
  Gate gate(cudaStreamPerThread);
  std::thread([&] {
    launch(add_one, 1, 1, 0, x.data());
    CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
  }).join();
  gate.open();
  CHECK(x.values()[0] == 1);
}

TEST_CASE("an error is returned, and stays the last one until it is asked for", "[emulated_runtime]") {
  cudaGetLastError();
  int host = 0;
  const DeviceVector<int> x(4);
  CHECK(cudaFree(&host) == cudaErrorInvalidValue);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaMemcpy(x.data(), &host, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);    // the other way round
  CHECK(cudaMemsetAsync(x.data() + 3, 0, 8, cudaStreamPerThread) == cudaErrorInvalidValue);  // past its end
  CHECK(cudaSetDevice(7) == cudaErrorInvalidDevice);
  CHECK(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(0x123456)) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST_CASE("pointers know where they lie", "[emulated_runtime]") {
  const DeviceVector<int> x(4);
  const Pinned pinned(0);
  int host = 0;
  cudaPointerAttributes attributes{};
  REQUIRE(cudaPointerGetAttributes(&attributes, x.data() + 1) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeDevice);
  REQUIRE(cudaPointerGetAttributes(&attributes, pinned.data) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeHost);
  REQUIRE(cudaPointerGetAttributes(&attributes, &host) == cudaSuccess);
  CHECK(attributes.type == cudaMemoryTypeUnregistered);
}

TEST_CASE("device memory is counted, and ends", "[emulated_runtime]") {
  const size_t before = emulated::bytes_in_use(0);
  emulated::set_device_bytes(before + 1000);
  void *first = nullptr, *second = nullptr;
  CHECK(cudaMalloc(&first, 600) == cudaSuccess);
  size_t unused = 0, total = 0;
  CHECK(cudaMemGetInfo(&unused, &total) == cudaSuccess);
  CHECK(unused == 400);
  CHECK(cudaMalloc(&second, 500) == cudaErrorMemoryAllocation);
  CHECK(cudaFree(first) == cudaSuccess);
  CHECK(cudaMalloc(&second, 500) == cudaSuccess);
  CHECK(cudaFree(second) == cudaSuccess);
  CHECK(emulated::bytes_in_use(0) == before);
  emulated::set_device_bytes(size_t{4} << 30);
  cudaGetLastError();
}

TEST_CASE("any call can be told to fail, and calls are counted", "[emulated_runtime]") {
  emulated::fail_call("cudaEventRecord", 2, cudaErrorUnknown);
  TwoStreams streams;
  const uint64_t before = emulated::calls("cudaEventRecord");
  CHECK(cudaEventRecord(streams.event, streams.a) == cudaSuccess);
  CHECK(cudaEventRecord(streams.event, streams.a) == cudaErrorUnknown);
  CHECK(cudaEventRecord(streams.event, streams.a) == cudaSuccess);
  CHECK(emulated::calls("cudaEventRecord") == before + 3);
  emulated::forget_failures();
}

TEST_CASE("after a kernel that failed, every call fails", "[emulated_runtime]") {
  const DeviceVector<int> x(std::vector<int>{0});
  emulated::fail_call("kernel", 2, cudaErrorIllegalAddress);
  launch(add_one, 1, 1, 0, x.data());
  launch(add_one, 1, 1, 0, x.data());
  CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaErrorIllegalAddress);
  CHECK_THROWS_AS(launch(add_one, 1, 1, 0, x.data()), ringlet::DeviceError);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  emulated::forget_failures();
  CHECK(x.values()[0] == 1);
}

TEST_CASE("a launch that a device refuses names the kernel and CUDA's error", "[emulated_runtime]") {
  const DeviceVector<int> x(1);
  const auto refused = [&](unsigned threads, size_t shared) -> std::string {
    try {
      launch(take_shared, 1, threads, shared, x.data());
      return "launched";
    } catch (const ringlet::DeviceError& error) {
      return error.what();
    }
  };
  CHECK_THAT(refused(1025, 0), Contains("take_shared(int*): invalid configuration argument, cudaErrorInvalidConfiguration"));
  CHECK_THAT(refused(1, 300 << 10), Contains("take_shared(int*): invalid argument, cudaErrorInvalidValue"));
  CHECK(refused(1, 100 << 10) == "launched");
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(x.values()[0] == 1);
  launch(take_shared, 0, 32, 0, x.data());  // no block, no launch
}

TEST_CASE("without a device every call says so", "[emulated_runtime]") {
  emulated::set_device_count(0);
  int count = -1;
  void* pointer = nullptr;
  CHECK(cudaGetDeviceCount(&count) == cudaErrorNoDevice);
  CHECK(count == -1);
  CHECK(cudaMalloc(&pointer, 1) == cudaErrorNoDevice);
  emulated::set_device_count(2);
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 2);
  emulated::set_device_count(1);
  cudaGetLastError();
}

TEST_CASE("host code that touches device memory", "[.touch]") {
  const DeviceVector<int> x(std::vector<int>{1});
  launch(add_one, 1, 1, 0, x.data());
  CHECK(x.values()[0] == 2);
  fprintf(stderr, "the device may\n");
  *x.data() = 3;
}

TEST_CASE("protected device memory is the device's alone", "[emulated_runtime]") {
  const std::string printed = run_again("[.touch]", "RINGLET_EMULATED_GPU_PROTECT=1");
  CHECK_THAT(printed, Contains("the device may") && Contains("emulated gpu: host code touches device memory"));
  CHECK_THAT(run_again("[.touch]", "RINGLET_EMULATED_GPU_FAIL=cudaMalloc:1"), Contains("cudaMalloc: out of memory"));
  CHECK_THAT(run_again("[.touch]", "RINGLET_EMULATED_GPUS=0"), Contains("cudaErrorNoDevice"));
}
