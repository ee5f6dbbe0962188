// Kernels that look things up by id or label, against those of the CPU.
#include <algorithm>
#include <numeric>

#include "tensor/kernels/cuda/cross_entropy.h"
#include "tensor/kernels/cuda/embedding.h"
#include "tensor/kernels/cuda/labels.h"
#include "tensor/kernels/cuda/sort_positions.h"
#include "test/gpu/bound.h"
#include "test/gpu/shifted.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr int32_t kIgnored = -100;

// Ids of a skewed vocabulary: many of few, few of many.
std::vector<int32_t> skewed_ids(int64_t N, int64_t V) {
  const RandomStream stream(11, "ids");
  std::vector<int32_t> ids(static_cast<size_t>(N));
  for (size_t n = 0; n < ids.size(); ++n) {
    const double x = static_cast<double>(stream.uniform(n));
    ids[n] = static_cast<int32_t>(x * x * x * static_cast<double>(V));
  }
  return ids;
}

struct Size {
  int64_t N, C, V;
};
constexpr Size kSizes[] = {{0, 8, 10},  {1, 1, 1},     {31, 7, 5},    {32, 8, 300},       {33, 33, 65},
                           {257, 9, 1}, {1023, 40, 2}, {1025, 5, 70}, {2100, 136, 50257}, {40, 1025, 7}};

}  // namespace

TEMPLATE_TEST_CASE("embedding on the GPU has the bits of the CPU, forward and backward", "[gpu]", float, double) {
  using T = TestType;
  for (const auto [N, C, V] : kSizes) {
    const std::vector<T> table = operands<T>(V * C, "table"), dy = operands<T>(N * C, "dy");
    const std::vector<int32_t> ids = skewed_ids(N, V);
    std::vector<T> y(dy.size()), dtable(table.size());
    kernels::embedding<T>(table.data(), ids.data(), y.data(), N, C, V);
    kernels::embedding_backward<T>(dy.data(), ids.data(), dtable.data(), N, C, V);
    CAPTURE(N, C, V);
    const auto rows = at_every_offset([&, N = N, C = C, V = V](int64_t offset) {
      const Shifted<T> from(table, offset), to(N * C, offset);
      const Shifted<int32_t> positions(ids, offset);
      kernels::cuda::embedding(from.data(), positions.data(), to.data(), N, C, V);
      return to.values();
    });
    CHECK(same_bits(rows, y));
    const auto gradient = at_every_offset([&, N = N, C = C, V = V](int64_t offset) {
      const Shifted<T> from(dy, offset), to(std::vector<T>(table.size()), offset);
      const Shifted<int32_t> positions(ids, offset);
      kernels::cuda::embedding_backward(from.data(), positions.data(), to.data(), N, C, V);
      return to.values();
    });
    CHECK(same_bits(gradient, dtable));
  }
}

TEST_CASE("embedding on the GPU in bf16 sums in fp32", "[gpu]") {
  constexpr int64_t N = 700, C = 24, V = 9;
  const std::vector<bf16> dy = operands<bf16>(N * C, "dy");
  const std::vector<int32_t> ids = skewed_ids(N, V);
  std::vector<float> dtable(V * C);
  kernels::embedding_backward<float>(widened(dy).data(), ids.data(), dtable.data(), N, C, V);
  const Shifted<bf16> from(dy, 0), to(std::vector<bf16>(V * C), 0);
  const Shifted<int32_t> positions(ids, 0);
  kernels::cuda::embedding_backward(from.data(), positions.data(), to.data(), N, C, V);
  CHECK(same_bits(to.values(), narrowed<bf16>(dtable)));
}

TEST_CASE("of ids out of range the GPU looks up zeros and drops the gradient", "[gpu]") {
  constexpr int64_t N = 40, C = 12, V = 6;
  std::vector<int32_t> ids = skewed_ids(N, V);
  ids[3] = -1, ids[17] = V, ids[39] = 1 << 30;
  const std::vector<float> table = operands<float>(V * C, "table"), dy = operands<float>(N * C, "dy");
  std::vector<float> expected(V * C), rows;
  for (size_t n = 0; n < N; ++n) {
    const bool fits = ids[n] >= 0 && ids[n] < V;
    for (size_t c = 0; c < C; ++c) {
      rows.push_back(fits ? table[static_cast<size_t>(ids[n]) * C + c] : 0.0F);
      if (fits) expected[static_cast<size_t>(ids[n]) * C + c] += dy[n * C + c];
    }
  }
  const Shifted<int32_t> positions(ids, 0);
  const Shifted<float> from(table, 0), gradient(dy, 0), y(N * C, 0), dtable(std::vector<float>(V * C), 0);
  kernels::cuda::embedding(from.data(), positions.data(), y.data(), N, C, V);
  kernels::cuda::embedding_backward(gradient.data(), positions.data(), dtable.data(), N, C, V);
  CHECK(same_bits(y.values(), rows));
  CHECK(same_bits(dtable.values(), expected));
}

TEST_CASE("positions are sorted by id, those of one id ascending", "[gpu]") {
  for (const auto& [N, V] :
       {std::pair<int64_t, int64_t>{1, 1}, {256, 70}, {257, 70}, {1024, 255}, {1025, 256}, {5000, 65535}, {3000, 65536}}) {
    const std::vector<int32_t> ids = skewed_ids(N, V);
    std::vector<int32_t> order(ids.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return ids[static_cast<size_t>(a)] < ids[static_cast<size_t>(b)]; });
    const auto positions = in_every_order([&, N = N, V = V] {
      const Shifted<int32_t> at(ids, 0);
      const kernels::cuda::SortedPositions sorted = kernels::cuda::sort_positions(at.data(), N, V);
      std::vector<int32_t> host(ids.size());
      kernels::cuda::check_cuda(cudaMemcpyAsync(host.data(), sorted.positions, ids.size() * sizeof(int32_t),
                                                cudaMemcpyDeviceToHost, cudaStreamPerThread),
                                "cudaMemcpyAsync");
      kernels::cuda::check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "cudaStreamSynchronize");
      return host;
    });
    CAPTURE(N, V);
    CHECK(positions == order);
  }
}

TEMPLATE_TEST_CASE("cross entropy on the GPU agrees with the CPU, forward and backward", "[gpu]", float, double, bf16) {
  using T = TestType;
  using A = Accumulator<T>;
  constexpr double u = kRounding<A>;
  for (const auto& [rows, V] :
       {std::pair<int64_t, int64_t>{0, 5}, {1, 1}, {9, 33}, {40, 64}, {3, 1025}, {5, 1032}, {300, 7}, {2, 9001}}) {
    std::vector<T> z = operands<T>(rows * V, "z");
    for (int64_t v = 0; v < V && rows > 0; ++v) {  // logits of 1000 keep the digits of their probabilities
      z[static_cast<size_t>(v)] = static_cast<T>(static_cast<double>(z[static_cast<size_t>(v)]) + 1000.0);
    }
    std::vector<int32_t> labels = skewed_ids(rows, V);
    for (size_t r = 1; r < labels.size(); r += 3) labels[r] = kIgnored;
    const std::vector<A> wide = widened(z), d = {A(0.7)};
    std::vector<A> sum(1), dz(z.size());
    std::vector<double> log_sum(labels.size());
    kernels::cross_entropy<A>(wide.data(), labels.data(), kIgnored, log_sum.data(), sum.data(), rows, V);
    kernels::cross_entropy_backward<A>(d.data(), wide.data(), labels.data(), kIgnored, log_sum.data(), dz.data(), rows, V);
    CAPTURE(rows, V);
    std::vector<double> log_sums;
    const auto loss = at_every_offset([&, rows = rows, V = V](int64_t offset) {
      const Shifted<T> in(z, offset);
      const Shifted<int32_t> at(labels, offset);
      const Shifted<double> sums(rows, offset);
      const Shifted<A> total(1, offset);
      kernels::cuda::cross_entropy(in.data(), at.data(), kIgnored, sums.data(), total.data(), rows, V);
      log_sums = sums.values();
      return total.values();
    });
    // log Σ exp(z − m) errs by the relative error of the sum: chains of additions, scalings, |z − m| < 16 in front of exp.
    const double of_row = u * (2 * row_chain(V) + 40);
    check_close<double>(log_sums, log_sum, [&](size_t) { return of_row; });
    check_close<A>(loss, sum, [&, rows = rows](size_t) {
      return static_cast<double>(rows) * of_row + 2 * u * std::fabs(static_cast<double>(sum[0]));
    });

    const auto gradient = at_every_offset([&, rows = rows, V = V](int64_t offset) {
      const Shifted<T> in(z, offset), out(rows * V, offset);
      const Shifted<int32_t> at(labels, offset);
      const Shifted<double> sums(log_sum, offset);
      const Shifted<A> scale(d, offset);
      kernels::cuda::cross_entropy_backward(scale.data(), in.data(), at.data(), kIgnored, sums.data(), out.data(), rows, V);
      return out.values();
    });
    check_close<T>(gradient, dz, [&, V = V](size_t i) {
      const size_t r = i / static_cast<size_t>(V);
      if (labels[r] == kIgnored) return 0.0;
      const double distance = std::fabs(static_cast<double>(wide[i]) - log_sum[r]);
      return 0.7 * u * ((8 + 2 * distance) * std::exp(-distance) + 4) + 0x1p-125;
    });
  }
}

TEST_CASE("labels are counted on the GPU, and the first that is out of range is told after the wait", "[gpu]") {
  for (const int64_t n : {0, 1, 31, 1023, 1024, 1025, 5000}) {
    std::vector<int32_t> labels = skewed_ids(n, 50);
    for (size_t i = 0; i < labels.size(); i += 4) labels[i] = kIgnored;
    const auto counted = in_every_order([&] {
      const Shifted<int32_t> at(labels, 0);
      const Shifted<int64_t> count(1, 0);
      kernels::cuda::count_labels(at.data(), n, kIgnored, 50, count.data());
      return count.values();
    });
    CHECK(counted[0] == n - (n + 3) / 4);
    CHECK_NOTHROW(kernels::cuda::fail_for_label_fault());
  }
  std::vector<int32_t> ids = skewed_ids(3000, 50);
  ids[2999] = -1, ids[1500] = 50, ids[2000] = kIgnored;
  const Shifted<int32_t> at(ids, 0);
  const Shifted<int64_t> count(1, 0);
  kernels::cuda::check_ids(at.data(), 3000, 50);
  kernels::cuda::count_labels(at.data() + 1600, 1400, kIgnored, 50, count.data());
  CHECK(count.values()[0] == 1398);  // waits; one is ignored, one is no label
  CHECK_THROWS_WITH(kernels::cuda::fail_for_label_fault(), "embedding: id 50 at position 1500, V = 50, ids are 0 .. 49");
  CHECK_NOTHROW(kernels::cuda::fail_for_label_fault());
  kernels::cuda::count_labels(at.data() + 1600, 1400, kIgnored, 50, count.data());
  static_cast<void>(count.values());
  CHECK_THROWS_WITH(kernels::cuda::fail_for_label_fault(),
                    "cross_entropy: label -1 at position 1399, V = 50, labels are 0 .. 49 or -100");
}
