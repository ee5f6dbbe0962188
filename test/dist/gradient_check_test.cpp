// Is the gradient that a parallel program computes the derivative of the loss that it computes? And is the backward of every
// collective its transpose?
#include <array>
#include <cmath>
#include <numeric>

#include "dist/collective_ops.h"
#include "tensor/base/hash.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/report.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

// The mean loss of step 0 over all ranks, with the parameters as they are.
double mean_loss(Job& job) {
  const int64_t first = job.comm.rank() * job.options.micro_batches / job.comm.size();
  const int64_t last = (job.comm.rank() + 1) * job.options.micro_batches / job.comm.size();
  std::array<double, 2> sums{};
  for (int64_t micro = first; micro < last; ++micro) {
    const auto [tokens, targets] = micro_batch(job.options, job.model.config(), 0, micro);
    const TokenSum loss = job.parallel->evaluate(tokens, targets);
    sums[0] += loss.sum;
    sums[1] += static_cast<double>(loss.count);
  }
  job.comm.all_reduce(sums, ReduceOp::Sum);
  return sums[0] / sums[1];
}

double sum_over_ranks(Communicator& comm, double value) {
  std::array<double, 1> sum{value};
  comm.all_reduce(sum, ReduceOp::Sum);
  return sum[0];
}

// The rank whose shard holds element i of a logical tensor sets it; all then compute with it.
void set_element(Job& job, StatePiece piece, int64_t i, double value) {
  if (i >= piece.begin && i < piece.begin + piece.data.numel()) {
    piece.data.mutable_span<double>()[static_cast<size_t>(i - piece.begin)] = value;
  }
  job.parallel->adopt_state(0);
}

std::vector<std::vector<double>> values_of(const std::vector<StatePiece>& pieces) {
  std::vector<std::vector<double>> values;
  for (const StatePiece& piece : pieces) {
    values.push_back(piece.data.to_vector());
  }
  return values;
}

// Plain SGD with a rate of 1 takes the gradient off the parameters: what a step changed is what the optimizer was given.
void check_gradient(Job& job, Report& report) {
  const std::vector<StatePiece> pieces = job.parallel->state();
  const auto before = values_of(pieces);
  job.train(0, 1);
  const auto after = values_of(pieces);
  for (size_t p = 0; p < pieces.size(); ++p) {  // back to where the gradient was taken
    Tensor data = pieces[p].data;
    std::copy(before[p].begin(), before[p].end(), data.mutable_span<double>().begin());
  }
  job.parallel->adopt_state(0);
  constexpr double kStep = 1e-5;  // truncation, h²/6 of the third derivative, and rounding, ε·L/h, are far below the tolerance
  for (size_t p = 0; p < pieces.size(); ++p) {
    const int64_t numel = pieces[p].full_shape.numel(), begin = pieces[p].begin;
    for (const int64_t i : {int64_t{0}, numel / 2, numel - 1}) {
      const bool mine = i >= begin && i < begin + pieces[p].data.numel();
      const auto at = static_cast<size_t>(i - begin);
      const double gradient = sum_over_ranks(job.comm, mine ? before[p][at] - after[p][at] : 0.0);
      const double value = sum_over_ranks(job.comm, mine ? before[p][at] : 0.0);
      set_element(job, pieces[p], i, value + kStep);
      const double above = mean_loss(job);
      set_element(job, pieces[p], i, value - kStep);
      const double below = mean_loss(job);
      set_element(job, pieces[p], i, value);
      const double numeric = (above - below) / (2 * kStep);
      report.expect(std::abs(numeric - gradient) <= 1e-8, "{}[{}]: gradient {}, by differences {}", pieces[p].name, i, gradient,
                    numeric);
    }
  }
}

// Small whole numbers: every sum is exact.
Tensor whole_numbers(int64_t n, int rank, uint64_t seed) {
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(static_cast<float>(static_cast<int64_t>(mix64(seed + static_cast<uint64_t>(100 * rank + i)) % 9) - 4));
  }
  return floats(values);
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0.0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    sum += a.at(i) * b.at(i);
  }
  return sum;
}

}  // namespace

TEST_CASE("finite differences through the parallel program find the gradient that its optimizer is given", "[dist_gradcheck]") {
  struct Row {
    const char* what;
    TrainOptions options;
  };
  const std::vector<Row> rows{
      {"accumulated", {.micro_batches = 6}},
      {"tied", {.micro_batches = 3, .tied_head = true}},
      {"every micro-batch reduced", {.micro_batches = 6, .parallel = {.reduce_every_micro_batch = true}}}};
  for (const Row& row : rows) {
    for (const std::string& strategy : kStrategies) {
      for (const int ranks : {1, 3}) {
        auto reports = per_rank<Report>(ranks);
        run_ranks(ranks, [&](Communicator& comm) {
          Report& report = reports[static_cast<size_t>(comm.rank())];
          report.about(message("{}, {} on {} ranks", row.what, strategy, ranks));
          TrainOptions options = row.options;
          options.strategy = strategy;
          options.max_norm = 0.0;
          options.lr = 1.0;
          options.optimizer = sgd();
          options.dtype = DType::F64;
          Job job(comm, options);
          check_gradient(job, report);
        });
        for (const Report& report : reports) {
          CHECK(report.checks() > 30);
          CHECK(report.failures() == std::vector<std::string>{});
        }
      }
    }
  }
}

TEST_CASE("the backward of every collective is its transpose, exactly", "[dist_gradcheck]") {
  struct Map {
    const char* name;
    int64_t in, out;       // elements of a rank's input and output,
    bool in_all, out_all;  // for each rank
    std::function<Var(Communicator&, const Var&)> f;
  };
  const std::vector<Map> maps{
      {"broadcast", 6, 6, false, false, [](Communicator& comm, const Var& x) { return broadcast(comm, x, comm.size() - 1); }},
      {"all_reduce", 6, 6, false, false, [](Communicator& comm, const Var& x) { return all_reduce(comm, x); }},
      {"all_gather", 3, 3, false, true, [](Communicator& comm, const Var& x) { return all_gather(comm, x); }},
      {"reduce_scatter", 3, 3, true, false, [](Communicator& comm, const Var& x) { return reduce_scatter(comm, x); }},
  };
  for (const Map& map : maps) {
    for (const int ranks : {1, 2, 3, 4}) {
      auto left = per_rank<double>(ranks), right = per_rank<double>(ranks);
      run_ranks(ranks, [&](Communicator& comm) {
        const int r = comm.rank();
        const Var x(whole_numbers(map.in * (map.in_all ? ranks : 1), r, 1), true);
        const Tensor y = whole_numbers(map.out * (map.out_all ? ranks : 1), r, 5);
        const Var Ax = map.f(comm, x);
        left[static_cast<size_t>(r)] = dot(Ax.data(), y);
        backward(Ax, y);
        right[static_cast<size_t>(r)] = dot(x.data(), x.grad());
      });
      INFO(map.name << " on " << ranks << " ranks");
      const double sum = std::accumulate(left.begin(), left.end(), 0.0);  // ⟨Ax, y⟩
      CHECK(sum != 0.0);
      CHECK(sum == std::accumulate(right.begin(), right.end(), 0.0));  // ⟨x, Aᵀy⟩
    }
  }
}
