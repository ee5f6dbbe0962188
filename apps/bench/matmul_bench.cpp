// matmul_bench: the matrix product against the fused multiply-add peak and, where Eigen is installed, against Eigen's, in one run
// on one thread. All three forms that training needs: x·W (NN), dy·Wᵀ (NT), xᵀ·dy (TN).
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/bench/fma_peak.h"
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

// Seconds of one call: the median of 15 rounds of at least 2 ms each.
template <typename Call>
double seconds_of(const Call& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> rounds;
  for (int64_t calls = 1; rounds.size() < 15;) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds < 2e-3) {
      calls *= 2;
    } else {
      rounds.push_back(seconds / static_cast<double>(calls));
    }
  }
  std::nth_element(rounds.begin(), rounds.begin() + 7, rounds.end());
  return rounds[7];
}

nlohmann::ordered_json measure(const Size& size, const std::string& form, double peak) {
  const int64_t M = size.M, N = size.N, K = size.K;  // clang 14 captures no structured binding
  const std::vector<float> a = numbers(M * K, 1), b = numbers(K * N, 2);
  std::vector<float> c(static_cast<size_t>(M * N));
  const MatrixView<float> A = form[0] == 'T' ? MatrixView<float>{a.data(), 1, M} : MatrixView<float>{a.data(), K, 1};
  const MatrixView<float> B = form[1] == 'T' ? MatrixView<float>{b.data(), 1, K} : MatrixView<float>{b.data(), N, 1};
  const double operations = 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K);
  const double ours = operations / seconds_of([&] { kernels::matmul_add_serial(M, N, K, A, B, c.data(), N); });
  nlohmann::ordered_json row = {
      {"form", form}, {"M", M}, {"N", N}, {"K", K}, {"ours_gflops", ours * 1e-9}, {"percent_of_peak", 100.0 * ours / peak}};
  if (eigen_available()) {
    const double eigen = operations / seconds_of([&] { eigen_product_add(M, N, K, A, B, c.data()); });
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

int matmul_bench(int argc, char** argv) {
  CLI::App app("The matrix product on one thread, beside the FMA peak and Eigen in the same run");
  std::string json;
  app.add_option("--json", json, "Also write the rows to this file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
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
  if (!json.empty()) {
    std::ofstream(json) << rows.dump(2) << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) { return ringlet::matmul_bench(argc, argv); }
