// Streams of the emulated runtime under capture.
#include "tensor/kernels/cuda/launch.h"
#include "test/gpu/device_vector.h"
#include "test/support/catch.h"

using namespace ringlet::kernels::cuda;

namespace {

__global__ void add(int* x, int amount) { *x += amount; }

struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ~Graph() {
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
};

void begin() { REQUIRE(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal) == cudaSuccess); }

}  // namespace

TEST_CASE("a captured stream does nothing until its graph is launched, then as often as it is", "[emulated_graph]") {
  const DeviceVector<int> x(std::vector<int>{0});
  Graph recorded;
  begin();
  cudaStreamCaptureStatus status{};
  CHECK(cudaStreamIsCapturing(cudaStreamPerThread, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  {
    int amount = 3;
    launch(add, 1, 1, 0, x.data(), amount);
    amount = 100;  // the graph has a copy
  }
  CHECK(cudaMemsetAsync(x.data() + 0, 0, 0, cudaStreamPerThread) == cudaSuccess);
  REQUIRE(cudaStreamEndCapture(cudaStreamPerThread, &recorded.graph) == cudaSuccess);
  CHECK(x.values()[0] == 0);
  REQUIRE(cudaGraphInstantiate(&recorded.executable, recorded.graph) == cudaSuccess);
  for (int times = 0; times < 3; ++times) {
    REQUIRE(cudaGraphLaunch(recorded.executable, cudaStreamPerThread) == cudaSuccess);
  }
  CHECK(x.values()[0] == 9);
}

TEST_CASE("a stream that waits for a captured event is captured too, and must be joined", "[emulated_graph]") {
  const DeviceVector<int> x(std::vector<int>{1});
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&join, cudaEventDisableTiming) == cudaSuccess);
  for (const bool joins : {true, false}) {
    Graph recorded;
    begin();
    REQUIRE(cudaEventRecord(fork, cudaStreamPerThread) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(side, fork) == cudaSuccess);
    REQUIRE(cudaMemsetAsync(x.data(), 0, sizeof(int), side) == cudaSuccess);
    REQUIRE(cudaEventRecord(join, side) == cudaSuccess);
    CHECK(cudaEventQuery(join) == cudaErrorCapturedEvent);
    if (joins) {
      REQUIRE(cudaStreamWaitEvent(cudaStreamPerThread, join) == cudaSuccess);
      launch(add, 1, 1, 0, x.data(), 5);
    }
    CHECK(cudaStreamEndCapture(cudaStreamPerThread, &recorded.graph) == (joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined));
    if (joins) {
      CHECK(x.values()[0] == 1);
      REQUIRE(cudaGraphInstantiate(&recorded.executable, recorded.graph) == cudaSuccess);
      REQUIRE(cudaGraphLaunch(recorded.executable, cudaStreamPerThread) == cudaSuccess);
      CHECK(x.values()[0] == 5);
    }
  }
  Graph unfinished;
  begin();
  REQUIRE(cudaEventRecord(fork, cudaStreamPerThread) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(side, fork) == cudaSuccess);
  CHECK(cudaStreamEndCapture(cudaStreamPerThread, &unfinished.graph) == cudaErrorStreamCaptureUnjoined);
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
  cudaStreamDestroy(side);
  cudaGetLastError();
}

TEST_CASE("a call that a graph cannot hold breaks the capture", "[emulated_graph]") {
  const DeviceVector<int> x(1);
  void* memory = nullptr;
  const auto broken_by = [&](cudaError_t error) {
    cudaGraph_t graph = nullptr;
    return error == cudaErrorStreamCaptureUnsupported &&
           cudaStreamEndCapture(cudaStreamPerThread, &graph) == cudaErrorStreamCaptureInvalidated && graph == nullptr;
  };
  begin();
  CHECK(broken_by(cudaMalloc(&memory, 16)));
  begin();
  CHECK(broken_by(cudaStreamSynchronize(cudaStreamPerThread)));
  begin();
  CHECK(broken_by(cudaMemset(x.data(), 0, sizeof(int))));
  begin();
  CHECK(broken_by(cudaDeviceSynchronize()));
  CHECK(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
}
