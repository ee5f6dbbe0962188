// matmul_bench: the matrix product against the fused multiply-add peak and, where Eigen is installed, against Eigen's, in one run
// on one thread; or on a GPU. All three forms that training needs: x·W (NN), dy·Wᵀ (NT), xᵀ·dy (TN).
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/fma_peak.h"
#include "apps/bench/harness/bench_main.h"
#include "apps/bench/harness/call_time.h"
#include "apps/bench/matmul_bench/on_gpu.h"
#include "apps/bench/peers/eigen_product.h"
#include "tensor/base/random.h"
#include "tensor/kernels/cpu/matmul.h"

namespace ringlet {
namespace {

using kernels::MatrixView;

struct Size {
  int64_t M, N, K;
};

// The mini-GPT's products at 64 tokens, nanoGPT's recipe at 768 tokens and width 128, and two that leave the caches.
constexpr Size kSizes[] = {{64, 96, 32},    {64, 32, 32},    {64, 128, 32},   {64, 32, 128},      {64, 64, 32},
                           {768, 384, 128}, {768, 512, 128}, {768, 128, 512}, {1024, 1024, 1024}, {256, 768, 3072}};

std::vector<float> numbers(int64_t count, uint64_t seed) {
  const RandomStream stream(seed, "matmul_bench");
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = stream.uniform(i);
  return values;
}

nlohmann::ordered_json measure(const Size& size, const std::string& form, double peak) {
  const int64_t M = size.M, N = size.N, K = size.K;  // clang 14 captures no structured binding
  const std::vector<float> a = numbers(M * K, 1), b = numbers(K * N, 2);
  std::vector<float> c(static_cast<size_t>(M * N));
  const MatrixView<float> A = form[0] == 'T' ? MatrixView<float>{a.data(), 1, M} : MatrixView<float>{a.data(), K, 1};
  const MatrixView<float> B = form[1] == 'T' ? MatrixView<float>{b.data(), 1, K} : MatrixView<float>{b.data(), N, 1};
  const double operations = 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K);
  const double ours = operations / seconds_of_call({[&] { kernels::matmul_add_serial(M, N, K, A, B, c.data(), N); }}, 15);
  nlohmann::ordered_json row = {
      {"form", form}, {"M", M}, {"N", N}, {"K", K}, {"ours_gflops", ours * 1e-9}, {"percent_of_peak", 100.0 * ours / peak}};
  if (eigen_available()) {
    const double eigen = operations / seconds_of_call({[&] { eigen_product_add(M, N, K, A, B, c.data()); }}, 15);
    row["eigen_gflops"] = eigen * 1e-9;
    row["ours_over_eigen"] = ours / eigen;
  }
  return row;
}

void print(const nlohmann::ordered_json& row) {
  std::printf("%s %5d x %5d x %5d   ours %7.1f GFLOP/s  %5.1f %% of peak", row["form"].get<std::string>().c_str(),
              row["M"].get<int>(), row["N"].get<int>(), row["K"].get<int>(), row["ours_gflops"].get<double>(),
              row["percent_of_peak"].get<double>());
  if (row.contains("eigen_gflops")) {
    std::printf("   Eigen %7.1f GFLOP/s   ours / Eigen %5.2f", row["eigen_gflops"].get<double>(),
                row["ours_over_eigen"].get<double>());
  }
  std::printf("\n");
}

std::string on_cpu() {
  const double peak = measure_fma_peak();
  std::printf("FMA peak of one core, measured: %.1f GFLOP/s%s\n", peak * 1e-9,
              eigen_available() ? "" : "   (built without Eigen: no peer)");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Size& size : kSizes) {
    for (const char* form : {"NN", "NT", "TN"}) {
      rows.push_back(measure(size, form, peak));
      print(rows.back());
    }
  }
  return rows.dump(2);
}

// The products of a GPT, beside what the data sheet promises.
std::string on_gpu(const GpuProductSizes& sizes, bool tf32) {
  std::printf("percent of an H200's dense peak in that type; f32 %s\n", tf32 ? "with TF32" : "without TF32");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const GpuProduct& product : time_gpu_products(sizes, tf32)) {
    rows.push_back({{"dtype", product.dtype},
                    {"form", product.form},
                    {"M", product.M},
                    {"N", product.N},
                    {"K", product.K},
                    {"us", 1e6 * product.seconds},
                    {"tflops", product.operations() / product.seconds * 1e-12},
                    {"percent_of_peak", 100.0 * product.operations() / product.seconds / product.peak}});
    const auto& row = rows.back();
    std::printf("%-5s %s %6d x %6d x %6d %10.1f us %8.1f TFLOP/s  %5.1f %% of peak\n", product.dtype.c_str(),
                product.form.c_str(), row["M"].get<int>(), row["N"].get<int>(), row["K"].get<int>(), row["us"].get<double>(),
                row["tflops"].get<double>(), row["percent_of_peak"].get<double>());
  }
  return rows.dump(2);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  GpuProductSizes sizes;
  const auto add_flags = [&](Flags& flags) {
    flags.whole("--tokens", sizes.tokens, 1, 1'000'000, "on a GPU: sequences times their length, the rows of a product");
    flags.whole("--embed-dim", sizes.width, 1, 1'000'000, "on a GPU: width C");
    flags.whole("--rounds", sizes.rounds, 1, 100'000, "on a GPU: of a product, of which the median is taken");
    flags.whole("--vocab-size", sizes.vocab_size, 1, 10'000'000, "on a GPU: tokens V");
  };
  return bench_main(
      {.name = "matmul_bench",
       .description = "The matrix product: on the CPU on one thread, beside the FMA peak and Eigen in the same run; "
                      "on a GPU the products of GPT-2's 124M parameters, beside the peak of an H200",
       .multiplies = true,
       .flags = add_flags,
       .run = [&](const BenchSettings& settings) { return settings.on_gpu() ? on_gpu(sizes, settings.tf32) : on_cpu(); }},
      argc, argv);
}
