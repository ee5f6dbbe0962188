// A kernel that would hang a device, or compute anything there, ends the program with the words for what it did.
#include "tensor/kernels/cuda/launch.h"
#include "test/gpu/run_again.h"
#include "test/support/catch.h"

using namespace ringlet::kernels::cuda;

namespace {

__global__ void some_wait(int threads) {
  if (static_cast<int>(threadIdx.x) < threads) {
    __syncthreads();
  }
}

__global__ void lanes_part() {
  if (threadIdx.x < 16) {
    __shfl_xor_sync(0xffffffffU, 1, 1);
  } else {
    __shfl_down_sync(0xffffffffU, 1, 1);
  }
}

void wait() { check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize"); }

}  // namespace

TEST_CASE("a barrier that some threads miss", "[.barrier]") {
  launch(some_wait, 1, 64, 0, 40);
  wait();
}

TEST_CASE("lanes in different shuffles", "[.lanes]") {
  launch(lanes_part, 1, 32, 0);
  wait();
}

TEST_CASE("threads that wait for what does not come are reported with kernel, block and thread", "[emulated_gpu]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(run_again("[.barrier]"), Contains("some_wait(int): a thread waits for others that do not come, block (0, 0, 0)") &&
                                          Contains("thread (0, 0, 0) is in __syncthreads at") &&
                                          Contains("thread (40, 0, 0) has ended"));
  CHECK_THAT(run_again("[.lanes]"), Contains("lanes_part(): lanes of a warp wait in different operations") &&
                                        Contains("thread (16, 0, 0) is in __shfl_down_sync, mask 0xffffffff") &&
                                        Contains("thread (0, 0, 0) is in __shfl_xor_sync"));
}
