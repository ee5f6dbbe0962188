// The emulated GPU runs kernels as a device would: barriers hold, lanes exchange, a missing barrier shows.
#include <cuda_bf16.h>
#include <mma.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "tensor/base/bf16.h"
#include "tensor/kernels/cuda/launch.h"
#include "test/emulated_gpu/control.h"
#include "test/gpu/device_vector.h"
#include "test/support/catch.h"

using namespace ringlet::kernels::cuda;
namespace emulated = ringlet::emulated_gpu;

namespace {

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

struct OrderGuard {
  explicit OrderGuard(emulated::Order order) : before(emulated::set_order(order)) {}
  ~OrderGuard() { emulated::set_order(before); }
  const emulated::Order before;
};
constexpr emulated::Order kOrders[] = {emulated::Order::Forward, emulated::Order::Reverse, emulated::Order::Shuffled};

__global__ void where_am_i(uint3* thread, uint3* block) {
  const unsigned in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned i = b * blockDim.x * blockDim.y * blockDim.z + in_block;
  thread[i] = threadIdx;
  block[i] = blockIdx;
}

// Each block turns its part round through shared memory; without the barrier, some are read before they are written.
template <bool waits>
__global__ void reverse_in_block(const float* x, float* y) {
  auto* buffer = dynamic_shared<float>();
  const unsigned begin = blockIdx.x * blockDim.x;
  buffer[threadIdx.x] = x[begin + threadIdx.x];
  if constexpr (waits) {
    __syncthreads();
  }
  y[begin + threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}

__global__ void sum_in_block(const float* x, float* y, int n) {
  __shared__ float of_warp[32];
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
    sum += x[i];
  }
  for (int step = 16; step > 0; step /= 2) {
    sum += __shfl_xor_sync(0xffffffffU, sum, step);
  }
  if (threadIdx.x % 32 == 0) {
    of_warp[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0.0F;
    for (unsigned step = 16; step > 0; step /= 2) {
      sum += __shfl_down_sync(0xffffffffU, sum, step);
    }
    if (threadIdx.x == 0) {
      *y = sum;
    }
  }
}

__global__ void exchange(int* down, int* up, int* broadcast, int* grouped, unsigned* votes) {
  const unsigned t = threadIdx.x;
  const int value = static_cast<int>(t) * 10;
  down[t] = __shfl_down_sync(0xffffffffU, value, 3);
  up[t] = __shfl_up_sync(0xffffffffU, value, 1);
  broadcast[t] = __shfl_sync(0xffffffffU, value, 13, 8);
  grouped[t] = __shfl_xor_sync(0xffffffffU, value, 4, 8);
  votes[t] = __ballot_sync(0xffffffffU, t % 3 == 0);
}

__global__ void halves_of_a_warp(int* y) {
  const unsigned mask = threadIdx.x < 16 ? 0x0000ffffU : 0xffff0000U;
  int sum = 1;
  for (int step = 8; step > 0; step /= 2) {
    sum += __shfl_xor_sync(mask, sum, step);
  }
  __syncwarp();
  y[threadIdx.x] = sum;
}

__global__ void count(unsigned* counter, unsigned* largest) {
  atomicAdd(counter, 1U);
  atomicMax(largest, blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void multiply_tile(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> tile_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> tile_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0F);
  for (int k = 0; k < 2; ++k) {
    wmma::load_matrix_sync(tile_a, a + 16 * k, 32);
    wmma::load_matrix_sync(tile_b, b + 16 * k, 32);
    wmma::mma_sync(sum, tile_a, tile_b, sum);
  }
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void read_unwritten(float* y) {
  __shared__ float unwritten[1];
  y[0] = unwritten[0];
  y[1] = dynamic_shared<float>()[0];
  unwritten[0] = dynamic_shared<float>()[0] = 0.0F;
}

}  // namespace

TEST_CASE("every thread of every block runs once and knows its place, in three dimensions", "[emulated_gpu]") {
  const dim3 grid(3, 2, 2), block(5, 4, 3);
  const DeviceVector<uint3> thread(12 * 60), in(12 * 60);
  launch(where_am_i, grid, block, 0, thread.data(), in.data());
  const auto threads = thread.values(), blocks = in.values();
  for (unsigned i = 0; i < 12 * 60; ++i) {
    const unsigned t = i % 60, b = i / 60;
    REQUIRE(threads[i].x == t % 5);
    REQUIRE(threads[i].y == t / 5 % 4);
    REQUIRE(threads[i].z == t / 20);
    REQUIRE(blocks[i].x == b % 3);
    REQUIRE(blocks[i].y == b / 3 % 2);
    REQUIRE(blocks[i].z == b / 6);
  }
}

TEST_CASE("a barrier holds in every order of the threads, and a missing one shows", "[emulated_gpu]") {
  const DeviceVector<float> x(counting(1024));
  std::vector<float> expected(1024);
  for (size_t i = 0; i < 1024; ++i) {
    expected[i] = static_cast<float>(i / 256 * 256 + 255 - i % 256);
  }
  for (const emulated::Order order : kOrders) {
    const OrderGuard guard(order);
    const DeviceVector<float> y(1024);
    launch(reverse_in_block<true>, 4, 256, 256 * sizeof(float), x.data(), y.data());
    CHECK(y.values() == expected);
    launch(reverse_in_block<false>, 4, 256, 256 * sizeof(float), x.data(), y.data());
    CHECK(y.values() != expected);
  }
}

TEST_CASE("a block sums with shuffles and shared memory, in every order of its threads", "[emulated_gpu]") {
  const DeviceVector<float> x(counting(1000)), y(1);
  for (const emulated::Order order : kOrders) {
    const OrderGuard guard(order);
    for (const unsigned threads : {32U, 64U, 1024U}) {
      launch(sum_in_block, 1, threads, 0, x.data(), y.data(), 1000);
      CHECK(y.values()[0] == 499500.0F);
    }
  }
}

TEST_CASE("lanes read each other's values", "[emulated_gpu]") {
  const DeviceVector<int> down(32), up(32), broadcast(32), grouped(32);
  const DeviceVector<unsigned> votes(32);
  launch(exchange, 1, 32, 0, down.data(), up.data(), broadcast.data(), grouped.data(), votes.data());
  for (int t = 0; t < 32; ++t) {
    CHECK(down.values()[t] == (t + 3 < 32 ? t + 3 : t) * 10);
    CHECK(up.values()[t] == (t >= 1 ? t - 1 : t) * 10);
    CHECK(broadcast.values()[t] == (t / 8 * 8 + 5) * 10);
    CHECK(grouped.values()[t] == (t ^ 4) * 10);
    CHECK(votes.values()[t] == 0x49249249U);
  }
  for (const emulated::Order order : kOrders) {  // a half may be ahead of the other
    const OrderGuard guard(order);
    const DeviceVector<int> sums(32);
    launch(halves_of_a_warp, 1, 32, 0, sums.data());
    CHECK(sums.values() == std::vector<int>(32, 16));
  }
}

TEST_CASE("atomic operations count across blocks", "[emulated_gpu]") {
  const DeviceVector<unsigned> counter(std::vector<unsigned>{0}), largest(std::vector<unsigned>{0});
  launch(count, 100, 64, 0, counter.data(), largest.data());
  CHECK(counter.values()[0] == 6400);
  CHECK(largest.values()[0] == 6399);
}

TEST_CASE("a warp multiplies tiles as loops do", "[emulated_gpu]") {
  std::vector<__nv_bfloat16> a(16 * 32), b(16 * 32);  // small integers: exact
  for (int i = 0; i < 16 * 32; ++i) {
    a[static_cast<size_t>(i)] = static_cast<float>(i * 7 % 13 - 6);
    b[static_cast<size_t>(i)] = static_cast<float>(i * 5 % 11 - 5);
  }
  const DeviceVector<__nv_bfloat16> device_a(a), device_b(b);
  const DeviceVector<float> c(256);
  launch(multiply_tile, 1, 32, 0, device_a.data(), device_b.data(), c.data());
  const auto product = c.values();
  for (size_t i = 0; i < 16; ++i) {
    for (size_t j = 0; j < 16; ++j) {
      float sum = 1;
      for (size_t k = 0; k < 32; ++k) {
        sum += static_cast<float>(a[i * 32 + k]) * static_cast<float>(b[j * 32 + k]);
      }
      CHECK(product[i * 16 + j] == sum);
    }
  }
}

TEST_CASE("bf16 rounds as ringlet's own does", "[emulated_gpu]") {
  for (uint32_t bits = 0; bits < 0xffff0000U; bits += 0x7fffU) {
    const auto value = std::bit_cast<float>(bits);
    if (!std::isnan(value)) {
      REQUIRE(__bfloat16_as_ushort(__float2bfloat16_rn(value)) == ringlet::bf16(value).bits);
    }
  }
  CHECK(std::isnan(__bfloat162float(std::numeric_limits<float>::quiet_NaN())));
}

TEST_CASE("fresh device memory and shared memory hold no number", "[emulated_gpu]") {
  CHECK(std::isnan(DeviceVector<float>(1).values()[0]));
  for (int launched = 0; launched < 2; ++launched) {
    const DeviceVector<float> y(2);
    launch(read_unwritten, 1, 1, sizeof(float), y.data());
    CHECK(std::isnan(y.values()[0]));
    CHECK(std::isnan(y.values()[1]));
  }
}
