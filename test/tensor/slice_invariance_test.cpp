// The bits of a result do not depend on where its operands stand: one table of kernels, offsets 0 .. 63, lengths around every
// width of a register.
#include <functional>

#include "tensor/kernels/cpu/arithmetic.h"
#include "tensor/kernels/cpu/attention.h"
#include "tensor/kernels/cpu/cross_entropy.h"
#include "tensor/kernels/cpu/dropout.h"
#include "tensor/kernels/cpu/elementwise.h"
#include "tensor/kernels/cpu/embedding.h"
#include "tensor/kernels/cpu/gelu.h"
#include "tensor/kernels/cpu/layer_norm.h"
#include "tensor/kernels/cpu/matmul.h"
#include "tensor/kernels/cpu/reduce.h"
#include "tensor/kernels/cpu/softmax.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr int64_t kOffsets = 64, kLengths[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 257, 1000};
constexpr int64_t kLongest = 1000, kAll = kOffsets + kLongest;

kernels::Runs runs_of(int64_t n, int64_t step_b) { return kernels::merge_runs({n}, {1}, {1}, {step_b}); }

// y_i is a function of a_i, b_i and the index first + i alone.
template <typename T>
struct Elementwise {
  std::string name;
  std::function<void(const T* a, const T* b, T* y, int64_t n, int64_t first)> run;
};

template <typename T>
std::vector<Elementwise<T>> elementwise_kernels() {
  using kernels::Arithmetic, kernels::Function;
  std::vector<Elementwise<T>> table;
  for (const auto op : {Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply, Arithmetic::Divide}) {
    const std::string name = "arithmetic " + std::to_string(static_cast<int>(op));
    table.push_back(
        {name, [op](const T* a, const T* b, T* y, int64_t n, int64_t) { kernels::arithmetic(op, runs_of(n, 1), y, a, b); }});
    table.push_back({name + " into", [op](const T* a, const T* b, T* y, int64_t n, int64_t) {
                       std::copy_n(a, n, y);
                       kernels::arithmetic_into(op, runs_of(n, 1), y, b);
                     }});
    table.push_back({name + " with a number", [op](const T* a, const T*, T* y, int64_t n, int64_t) {
                       const T number = static_cast<T>(1.7);
                       kernels::arithmetic(op, runs_of(n, 0), y, a, &number);
                     }});
  }
  for (int f = 0; f <= static_cast<int>(Function::Step); ++f) {
    table.push_back({"function " + std::to_string(f), [f](const T* a, const T*, T* y, int64_t n, int64_t) {
                       kernels::elementwise(static_cast<Function>(f), runs_of(n, 1), y, a);
                     }});
  }
  table.push_back({"gelu_erf", [](const T* a, const T*, T* y, int64_t n, int64_t) { kernels::gelu_erf(a, y, n); }});
  table.push_back({"gelu_tanh", [](const T* a, const T*, T* y, int64_t n, int64_t) { kernels::gelu_tanh(a, y, n); }});
  table.push_back(
      {"gelu_erf_backward", [](const T* a, const T* b, T* y, int64_t n, int64_t) { kernels::gelu_erf_backward(b, a, y, n); }});
  table.push_back({"gelu_tanh_backward",
                   [](const T* a, const T* b, T* y, int64_t n, int64_t) { kernels::gelu_tanh_backward(b, a, y, n); }});
  table.push_back({"dropout", [](const T* a, const T*, T* y, int64_t n, int64_t first) {
                     kernels::dropout(a, y, n, 0.3, RandomStream(1, "slice"), static_cast<uint64_t>(first));
                   }});
  return table;
}

// y is a function of all n elements of a and b, and of nothing else; `size(n)` elements are written.
constexpr int64_t kRows = 3;
template <typename T>
struct Whole {
  std::string name;
  std::function<int64_t(int64_t n)> size;
  std::function<void(const T* a, const T* b, T* y, int64_t n)> run;  // a: [kRows·n]   b: [kRows·n]
};

template <typename T>
std::vector<Whole<T>> row_kernels() {
  const auto one = [](int64_t) { return int64_t{1}; };
  const auto same = [](int64_t n) { return kRows * n; };
  return {
      {"sum", one, [](const T* a, const T*, T* y, int64_t n) { kernels::sum(a, y, 1, n, 1); }},
      {"squared_norm", one,
       [](const T* a, const T*, T* y, int64_t n) {
         double sum = 0;
         kernels::squared_norm(a, n, &sum);
         *y = static_cast<T>(sum);
       }},
      {"all_finite", one,
       [](const T* a, const T*, T* y, int64_t n) {
         int32_t finite = 0;
         kernels::all_finite(a, n, &finite);
         *y = static_cast<T>(finite);
       }},
      {"sum over columns", [](int64_t) { return kRows; },
       [](const T* a, const T*, T* y, int64_t n) { kernels::sum(a, y, kRows, n, 1); }},
      {"sum over rows", [](int64_t n) { return n; },
       [](const T* a, const T*, T* y, int64_t n) { kernels::sum(a, y, 1, kRows, n); }},
      {"sum over many rows", [](int64_t) { return kRows; },
       [](const T* a, const T*, T* y, int64_t n) { kernels::sum(a, y, 1, n, kRows); }},
      {"max over columns", [](int64_t n) { return n == 0 ? 0 : kRows; },
       [](const T* a, const T*, T* y, int64_t n) { kernels::max(a, y, n == 0 ? 0 : kRows, n, 1); }},
      {"max over rows", [](int64_t n) { return n; },
       [](const T* a, const T*, T* y, int64_t n) { kernels::max(a, y, 1, kRows, n); }},
      {"softmax", same, [](const T* a, const T*, T* y, int64_t n) { kernels::softmax(a, y, kRows, n); }},
      {"softmax_backward", same, [](const T* a, const T* b, T* y, int64_t n) { kernels::softmax_backward(a, b, y, kRows, n); }},
      {"matmul", same,
       [](const T* a, const T* b, T* y, int64_t n) {
         std::fill_n(y, kRows * n, T(0));
         kernels::matmul_add(kRows, n, kRows, kernels::MatrixView<T>{a, kRows, 1}, kernels::MatrixView<T>{b, n, 1}, y, n);
       }},
  };
}

template <typename T>
void layer_norm_forward_and_backward(const T* a, const T* b, T* y, int64_t n) {
  T *mean = y + kRows * n, *rstd = mean + kRows, *dx = rstd + kRows, *dgamma = dx + kRows * n, *dbeta = dgamma + n;
  kernels::layer_norm(a, b, b + n, 1e-5, y, mean, rstd, kRows, n);
  kernels::layer_norm_backward(b, a, b, mean, rstd, dx, kRows, n);
  kernels::layer_norm_backward_weights(b, a, mean, rstd, dgamma, dbeta, kRows, n);
}

template <typename T>
void cross_entropy_forward_and_backward(const T* a, const T*, T* y, int64_t n) {
  if (n == 0) {
    return;
  }
  const int32_t labels[kRows] = {0, -100, static_cast<int32_t>(n - 1)};
  double log_sum[kRows];
  kernels::cross_entropy(a, labels, -100, log_sum, y + kRows * n, kRows, n);
  const T d = T(0.7);
  kernels::cross_entropy_backward(&d, a, labels, -100, log_sum, y, kRows, n);
}

template <typename T>
void embedding_forward_and_backward(const T* a, const T* b, T* y, int64_t n) {
  const int32_t ids[kRows] = {2, 0, 2};
  kernels::embedding(a, ids, y, kRows, n, kRows);
  std::fill_n(y + kRows * n, kRows * n, T(0));
  kernels::embedding_backward(b, ids, y + kRows * n, kRows, n, kRows);
}

template <typename T>
std::vector<Whole<T>> fused_kernels() {
  return {
      {"layer_norm", [](int64_t n) { return 2 * kRows * n + 2 * kRows + 2 * n; }, layer_norm_forward_and_backward<T>},
      {"cross_entropy", [](int64_t n) { return n == 0 ? 0 : kRows * n + 1; }, cross_entropy_forward_and_backward<T>},
      {"embedding", [](int64_t n) { return 2 * kRows * n; }, embedding_forward_and_backward<T>},
  };
}

template <typename T>
void require_elementwise(const Elementwise<T>& kernel) {
  const auto a = normals<T>(kAll, "a"), b = normals<T>(kAll, "b");
  std::vector<T> whole(kAll), part(kAll + kOffsets);
  kernel.run(a.data(), b.data(), whole.data(), kAll, 0);
  for (const int64_t length : kLengths) {
    for (int64_t offset = 0; offset < kOffsets; ++offset) {
      T* y = part.data() + (offset * 5 + 3) % kOffsets;  // the result stands elsewhere than the operands
      kernel.run(a.data() + offset, b.data() + offset, y, length, offset);
      CAPTURE(kernel.name, length, offset, sizeof(T));
      REQUIRE(same_bits(y, whole.data() + offset, length));
    }
  }
}

template <typename T>
void require_whole(const Whole<T>& kernel) {
  for (const int64_t length : kLengths) {
    const int64_t operand = kRows * std::max(length, kRows), size = kernel.size(length);
    const auto a = normals<T>(operand, "a"), b = normals<T>(operand, "b");
    std::vector<T> there_a(operand + kOffsets), there_b(operand + kOffsets), first(size + 1), y(size + 1 + kOffsets);
    kernel.run(a.data(), b.data(), first.data(), length);
    for (int64_t offset = 0; offset < kOffsets; ++offset) {
      T *to_a = there_a.data() + offset, *to_b = there_b.data() + (offset * 7 + 1) % kOffsets,
        *to_y = y.data() + (offset * 5 + 3) % kOffsets;
      std::copy(a.begin(), a.end(), to_a);
      std::copy(b.begin(), b.end(), to_b);
      kernel.run(to_a, to_b, to_y, length);
      CAPTURE(kernel.name, length, offset, sizeof(T));
      REQUIRE(same_bits(to_y, first.data(), size));
    }
  }
}

template <typename T>
void require_attention(int64_t tokens) {
  const kernels::AttentionSizes sizes{.B = 1, .T = tokens, .H = 2, .D = 5};
  const int64_t C = 10, in = tokens * 3 * C, out = tokens * C;
  std::vector<int32_t> seen(static_cast<size_t>(tokens));
  for (int64_t i = 0; i < tokens; ++i) seen[static_cast<size_t>(i)] = static_cast<int32_t>(i + 1);
  const auto qkv = normals<T>(in, "qkv"), dy = normals<T>(out, "dy");
  std::vector<T> there(in + kOffsets), y(out + kOffsets), dqkv(in + kOffsets),
      scratch(kernels::attention_scratch(sizes, false) + kOffsets);
  std::vector<T> first_y, first_dqkv;
  std::vector<double> log_sum(2 * tokens);
  for (int64_t offset = 0; offset < kOffsets; ++offset) {
    T *x = there.data() + offset, *to = y.data() + (offset * 5) % kOffsets, *dx = dqkv.data() + (offset * 7) % kOffsets;
    std::copy(qkv.begin(), qkv.end(), x);
    std::fill(dqkv.begin(), dqkv.end(), T(0));
    kernels::attention(sizes, {seen.data(), nullptr}, {0, nullptr}, x, to, log_sum.data(), scratch.data() + offset);
    kernels::attention_backward(sizes, {seen.data(), nullptr}, {0, nullptr}, dy.data(), x, log_sum.data(), dx,
                                scratch.data() + offset);
    if (offset == 0) {
      first_y.assign(to, to + out);
      first_dqkv.assign(dx, dx + in);
    }
    CAPTURE(tokens, offset, sizeof(T));
    REQUIRE(same_bits(to, first_y.data(), out));
    REQUIRE(same_bits(dx, first_dqkv.data(), in));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("a slice of an elementwise result has the bits of the result of the slice", "[tensor]", float, double) {
  for (const auto& kernel : elementwise_kernels<TestType>()) {
    require_elementwise(kernel);
  }
}

TEMPLATE_TEST_CASE("a result over whole rows has the same bits wherever the rows stand", "[tensor]", float, double) {
  for (const auto& kernel : row_kernels<TestType>()) {
    require_whole(kernel);
  }
  for (const auto& kernel : fused_kernels<TestType>()) {
    require_whole(kernel);
  }
}

TEMPLATE_TEST_CASE("attention has the same bits wherever its rows stand", "[tensor]", float, double) {
  for (const int64_t tokens : {1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 65}) {
    require_attention<TestType>(tokens);
  }
}
