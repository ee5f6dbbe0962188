// ddp_demo: data parallel and FSDP from scratch, to be read in one sitting. It stands on collectives/, autograd/ and nn/ alone; of
// apps/training it takes only what every main needs (flags, the start of the ranks, exit codes). The two ideas stand beside it:
// ddp_demo/minimal_ddp.h averages gradients, ddp_demo/sharded_parameter.h takes a parameter apart and puts it together again.
//
// The task: the mean squared error of model(x) − y on one fixed batch of N samples, y = x·T for a fixed random T.
//   x: [N, 32]   y: [N, 4]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "apps/ddp_demo/demo_config.h"
#include "apps/ddp_demo/demo_report.h"
#include "apps/ddp_demo/minimal_ddp.h"
#include "apps/ddp_demo/sharded_parameter.h"
#include "apps/training/exit_code.h"
#include "apps/training/phase_spans.h"
#include "apps/training/run_main.h"
#include "apps/training/trace_file.h"
#include "autograd/ops.h"
#include "collectives/control_scope.h"
#include "nn/init.h"
#include "nn/linear.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kIn = 32, kHidden = 16, kOut = 4;

// y = W₂·gelu(W₁·(x − s) + b₁) + b₂. Every rank makes other parameters and another shift s, on purpose: only the broadcast makes
// them equal. Rank 0's shift is 0.
class DemoModel : public Module {
 public:
  DemoModel(int64_t seed, int rank) : fc1_(kIn, kHidden, true), fc2_(kHidden, kOut, true) {
    add_module("fc1", fc1_);
    add_module("fc2", fc2_);
    shift_ = add_buffer("shift", Tensor::full({kIn}, rank));
    for (NamedParameter& parameter : parameters()) {
      Tensor data = parameter.var.data();
      init_normal(data, static_cast<uint64_t>(seed + rank), parameter.name, 0.2);  // about 1/√32 and 1/√16
    }
  }
  Var forward(const Tensor& x) {
    return hooked([&] { return fc2_.forward(gelu(fc1_.forward(Var(x - shift_)), GeluForm::Erf)); });
  }

 private:
  Linear fc1_;
  Linear fc2_;
  Tensor shift_;
};

struct Batch {
  Tensor x, y;
  int64_t samples() const { return x.dim(0); }
  Batch slice(int64_t first, int64_t count) const { return {x.narrow(0, first, count), y.narrow(0, first, count)}; }
};

Batch make_batch(int64_t samples, int64_t seed) {
  Tensor x = Tensor::empty({samples, kIn}), teacher = Tensor::empty({kIn, kOut});
  init_normal(x, static_cast<uint64_t>(seed), "ddp_demo/x", 1.0);
  init_normal(teacher, static_cast<uint64_t>(seed), "ddp_demo/teacher", 1.0 / std::sqrt(kIn));
  return {x, matmul(x, teacher)};
}

// [snippet: forward_backward]
// The mean loss over `batch`; its gradient is in the parameters afterwards. Without samples: 0, and no gradient.
double forward_backward(DemoModel& model, const Batch& batch) {
  for (NamedParameter& parameter : model.parameters()) {
    parameter.var.clear_grad();
  }
  if (batch.samples() == 0) {
    return 0.0;
  }
  const Var loss = mean(square(model.forward(batch.x) - Var(batch.y)));
  backward(loss);
  return loss.item();
}
// [/snippet]

std::vector<Tensor> gradients(const Module& model) {
  std::vector<Tensor> found;
  for (const NamedParameter& parameter : model.parameters()) {
    found.push_back(parameter.var.grad());
  }
  return found;
}

double over_ranks(Communicator& comm, double value, ReduceOp op) {
  const ControlScope control(comm);
  comm.all_reduce(Buffer(&value, 1, DType::F64), op);
  return value;
}

// max|a − b|; NaN when there is one.
double max_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  const std::vector<double> left = a.to_vector(), right = b.to_vector();
  for (size_t i = 0; i < left.size(); ++i) {
    worst = worse(worst, std::abs(left[i] - right[i]));
  }
  return worst;
}

// [snippet: spread]
// How far the ranks' parameters are apart: per element the largest minus the smallest, and of these the largest.
double parameter_spread(const Module& model, Communicator& comm) {
  double spread = 0;
  for (const NamedParameter& parameter : model.parameters()) {
    Tensor largest = parameter.var.data().clone(), smallest = parameter.var.data().clone();
    comm.all_reduce(memory_of(largest), ReduceOp::Max);
    comm.all_reduce(memory_of(smallest), ReduceOp::Min);
    spread = worse(spread, max_difference(largest, smallest));
  }
  return spread;
}
// [/snippet]

// One step of data parallel, and beside it the proof: the same gradient from one process that has the whole batch.
DemoStep take_step(DemoModel& model, MinimalDdp& ddp, const Batch& whole, double lr, Communicator& comm) {
  DemoStep step;
  forward_backward(model, whole);
  const std::vector<Tensor> reference = gradients(model);

  const auto start = Clock::now();
  // [snippet: step]
  const int64_t N = whole.samples(), P = comm.size(), r = comm.rank();
  const int64_t first = r * N / P, mine = (r + 1) * N / P - first;  // as equal as can be; none when there are fewer than ranks
  const double loss = forward_backward(model, whole.slice(first, mine));
  ddp.average_gradients(mine, N);
  for (NamedParameter& parameter : model.parameters()) {  // SGD
    Tensor data = parameter.var.data();
    add_into(data, parameter.var.grad() * -lr);
  }
  // [/snippet]
  step.ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();

  step.loss = over_ranks(comm, loss * static_cast<double>(mine), ReduceOp::Sum) / static_cast<double>(N);
  const std::vector<Tensor> averaged = gradients(model);
  double squares = 0;
  for (size_t i = 0; i < averaged.size(); ++i) {
    squares += squared_norm(averaged[i]);
    step.difference = worse(step.difference, max_difference(averaged[i], reference[i]));
  }
  step.gradient_norm = std::sqrt(squares);
  step.difference = over_ranks(comm, step.difference, ReduceOp::Max);
  const ControlScope control(comm);
  step.spread = parameter_spread(model, comm);
  return step;
}

// Microseconds of `call`: the best of ten, and of the ranks the slowest.
template <typename Call>
double microseconds(Communicator& comm, Call&& call) {
  double best = 1e30;
  for (int round = 0; round < 10; ++round) {
    comm.barrier();
    const auto start = Clock::now();
    call();
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return over_ranks(comm, best, ReduceOp::Max);
}

// AVG as a reduce op, against a SUM that is then divided: production saves the second pass over the gradient.
void time_average(Communicator& comm, DemoResult& result) {
  Tensor gradient = Tensor::zeros({int64_t{1} << 18}, DType::F32, Category::Communication);  // 1 MiB
  result.timed_bytes = gradient.bytes();
  result.sum_then_divide_us = microseconds(comm, [&] {
    comm.all_reduce(memory_of(gradient), ReduceOp::Sum);
    divide_into(gradient, comm.size());
  });
  result.avg_us = microseconds(comm, [&] { comm.all_reduce(memory_of(gradient), ReduceOp::Avg); });
}

double sum_of_parameters(const Module& model) {
  double total = 0;
  for (const NamedParameter& parameter : model.parameters()) {
    total += sum(parameter.var.data().to(DType::F64)).item();
  }
  return total;
}

template <typename T>
std::vector<T> from_all_ranks(Communicator& comm, T mine) {
  std::vector<T> all(static_cast<size_t>(comm.size()));
  const ControlScope control(comm);
  comm.all_gather(ConstBuffer(&mine, 1, dtype_of<T>), all);
  return all;
}

ExitCode ddp_demo(const DemoConfig& config, Communicator& world, const Recorder& recorder) {
  const auto start = Clock::now();
  prepare(config, world);
  DemoModel model(config.seed, world.rank());
  MinimalDdp ddp(model, world);
  const Batch batch = make_batch(config.batch_size, config.seed);

  DemoResult result;
  print_heading(config, model.parameter_count(), world);
  PhaseSpans spans(recorder.timeline, model);
  recorder.begin_phase(kPhaseSteps);
  for (int64_t number = 1; number <= config.num_steps; ++number) {
    result.steps.push_back(take_step(model, ddp, batch, config.lr, world));
    report_step(result.steps.back(), number, world);
    spans.end_step(number);
  }
  recorder.begin_phase(kPhaseEnd);
  result.parameter_sums = from_all_ranks(world, sum_of_parameters(model));
  time_average(world, result);
  const RoundTrip trip = fsdp_round_trip(model, world);
  result.bytes_whole = trip.bytes_before;
  result.bytes_sharded = from_all_ranks(world, trip.bytes_sharded);
  result.round_trip_ok = over_ranks(world, trip.equal ? 1 : 0, ReduceOp::Min) == 1;
  result.bytes_ok = over_ranks(world, trip.counted ? 1 : 0, ReduceOp::Min) == 1;
  result.total_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  result.communication = gather_communication(recorder, config.num_steps, world);
  write_trace(config.communication.trace, recorder, world);
  return report(result, config, world);
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) {
  using namespace ringlet;
  DemoConfig config;
  const auto parse = [&](int count, char** words) {
    const auto text = parse_demo_config(count, words, config);
    return Request{.ranks = config.ranks,
                   .backend = config.backend,
                   .device = config.device,
                   .communication = config.communication,
                   .text = text};
  };
  const auto run = [&](Communicator& world, const Recorder& recorder) { return to_int(ddp_demo(config, world, recorder)); };
  return run_main({.name = "ddp_demo", .parse = parse, .run = run}, argc, argv);
}
