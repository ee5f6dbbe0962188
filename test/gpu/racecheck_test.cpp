// Two threads that use the same shared memory without a barrier between them are found, whatever comes out of it.
#include "tensor/kernels/cuda/launch.h"
#include "test/emulated_gpu/control.h"
#include "test/gpu/device_vector.h"
#include "test/gpu/run_again.h"
#include "test/support/catch.h"

using namespace ringlet::kernels::cuda;

namespace {

enum class Between : int { Nothing, Barrier, WarpBarrier, Shuffle };

__device__ void wait(Between between) {
  switch (between) {
    case Between::Nothing: return;
    case Between::Barrier: return __syncthreads();
    case Between::WarpBarrier: return __syncwarp();
    case Between::Shuffle: __shfl_xor_sync(0xffffffffU, 1, 1); return;
  }
}

// Thread t writes, then reads what thread t + distance wrote: the same number, so that no order of threads would show.
__global__ void read_neighbour(Between between, unsigned distance, int* y) {
  __shared__ int of_thread[64];
  of_thread[threadIdx.x] = 1;
  wait(between);
  y[threadIdx.x] = of_thread[(threadIdx.x + distance) % 64];
}

// One round after the other, in the same memory.
__global__ void read_in_rounds(Between between, int* y) {
  auto* of_thread = dynamic_shared<int>();
  for (int round = 0; round < 2; ++round) {
    of_thread[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = of_thread[(threadIdx.x + 1) % 64];
    wait(between);
  }
}

__global__ void count(Between between, int* y) {
  __shared__ unsigned counted;
  if (threadIdx.x == 0) {
    counted = 0;
  }
  __syncthreads();
  atomicAdd(&counted, 1);
  wait(between);
  y[threadIdx.x] = counted > 0 ? 1 : 0;
}

__global__ void write_halves(int* y) {
  __shared__ unsigned short halves[64];
  halves[threadIdx.x] = 1;
  y[threadIdx.x] = halves[threadIdx.x];
}

template <typename... Parameters, typename... Arguments>
void run(void (*kernel)(Parameters...), Arguments... arguments) {
  const DeviceVector<int> y(64);
  const bool looked = ringlet::emulated_gpu::set_racecheck(true);
  launch(kernel, 1, 64, 64 * sizeof(int), arguments..., y.data());
  CHECK(y.values() == std::vector<int>(64, 1));
  ringlet::emulated_gpu::set_racecheck(looked);
}

}  // namespace

TEST_CASE("a neighbour is read too early", "[.race_1]") { run(read_neighbour, Between::Nothing, 1U); }
TEST_CASE("a shuffle is no barrier", "[.race_2]") { run(read_neighbour, Between::Shuffle, 1U); }
TEST_CASE("a warp does not wait for another", "[.race_3]") { run(read_neighbour, Between::WarpBarrier, 32U); }
TEST_CASE("memory is written anew before all have read it", "[.race_4]") { run(read_in_rounds, Between::WarpBarrier); }
TEST_CASE("a count is read while others count", "[.race_5]") { run(count, Between::WarpBarrier); }

TEST_CASE("What nothing orders is reported with kernel and threads, what a barrier orders is not", "[emulated_gpu]") {
  using Catch::Matchers::Contains;
  run(read_neighbour, Between::Barrier, 1U);
  run(read_in_rounds, Between::Barrier);
  run(count, Between::Barrier);
  run(write_halves);
  const char* const kRule = "no barrier between two threads that use the same shared memory, block (0, 0, 0)";
  CHECK_THAT(run_again("[.race_1]"), Contains("read_neighbour") && Contains(kRule) && Contains("thread (0, 0, 0) reads byte") &&
                                         Contains("thread (1, 0, 0) writes byte"));
  CHECK_THAT(run_again("[.race_2]"), Contains(kRule));
  CHECK_THAT(run_again("[.race_3]"), Contains(kRule));
  CHECK_THAT(run_again("[.race_4]"), Contains(kRule) && Contains("both after the barrier at"));
  CHECK_THAT(run_again("[.race_5]"), Contains(kRule) && Contains("changes atomically"));
}
