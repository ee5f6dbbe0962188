// ddp_demo: data parallel and FSDP from scratch, to be read in one sitting. It stands on collectives/, autograd/ and nn/ alone; of
// apps/training it takes only what every main needs (flags, the start of the ranks, exit codes). The two ideas stand beside it:
// ddp_demo/minimal_ddp.h averages gradients, ddp_demo/sharded_parameter.h takes a parameter apart and puts it together again.
//
// The task: squared error ℓ = ‖model(x) − y‖² on one fixed batch of N samples, y = x·T for a fixed random T.
//   x: [N, 32]   y: [N, 4]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/ddp_demo/minimal_ddp.h"
#include "apps/ddp_demo/sharded_parameter.h"
#include "apps/training/flags.h"
#include "apps/training/output_file.h"
#include "apps/training/run_main.h"
#include "apps/training/settings.h"
#include "apps/training/threads.h"
#include "autograd/ops.h"
#include "collectives/backends/mpi.h"
#include "nn/init.h"
#include "nn/linear.h"

namespace ringlet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kIn = 32, kHidden = 16, kOut = 4;
constexpr double kTolerance = 1e-3;  // what the gradient and the spread must keep within; fp32 leaves 1e-8 and 0

struct DemoConfig {
  int64_t ranks = 0;
  std::string backend = "mpi";
  std::string output = "outputs/ddp-demo.json";
  int64_t num_steps = 6;
  int64_t batch_size = 8;
  double lr = 0.05;
  int64_t seed = 41;
  bool write = true;
};

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
  Var forward(const Tensor& x) { return fc2_.forward(gelu(fc1_.forward(Var(x - shift_)), GeluForm::Erf)); }

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
  const Var loss = sum(square(model.forward(batch.x) - Var(batch.y))) / static_cast<double>(batch.samples());
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
  comm.all_reduce(Buffer(&value, 1, DType::F64), op);
  return value;
}

// max|a − b|; NaN when there is one.
double max_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    const double difference = std::abs(a.at(i) - b.at(i));
    worst = difference <= worst ? worst : difference;
  }
  return worst;
}

// [snippet: spread]
// How far the ranks' parameters are apart: per element the largest minus the smallest, and of these the largest.
double parameter_spread(const Module& model, Communicator& comm) {
  double spread = 0;
  for (const NamedParameter& parameter : model.parameters()) {
    Tensor largest = parameter.var.data().clone(), smallest = parameter.var.data().clone();
    comm.all_reduce(largest.mutable_span<float>(), ReduceOp::Max);
    comm.all_reduce(smallest.mutable_span<float>(), ReduceOp::Min);
    const double apart = max_difference(largest, smallest);
    spread = apart <= spread ? spread : apart;
  }
  return spread;
}
// [/snippet]

struct Step {
  double loss = 0, gradient_norm = 0, difference = 0, spread = 0, ms = 0;
};

// One step of data parallel, and beside it the proof: the same gradient from one process that has the whole batch.
Step take_step(DemoModel& model, MinimalDdp& ddp, const Batch& whole, double lr, Communicator& comm) {
  Step step;
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
    const double difference = max_difference(averaged[i], reference[i]);
    step.difference = difference <= step.difference ? step.difference : difference;
  }
  step.gradient_norm = std::sqrt(squares);
  step.difference = over_ranks(comm, step.difference, ReduceOp::Max);
  step.spread = parameter_spread(model, comm);
  return step;
}

int64_t parameter_bytes_held() { return Allocator::current()->ledger().of(Category::Parameters).live; }

struct RoundTrip {
  int64_t bytes_before = 0, bytes_sharded = 0;
  bool equal = true;   // bit for bit
  bool counted = true;  // the allocator holds n, then ⌈n/P⌉, then ⌈n/P⌉ + P·⌈n/P⌉, then ⌈n/P⌉ elements
};

// [snippet: round_trip]
// Every parameter is sharded, unsharded, compared, and sharded again; the bytes are those that the allocator counts.
RoundTrip fsdp_round_trip(Module& model, Communicator& comm) {
  RoundTrip trip;
  trip.bytes_before = parameter_bytes_held();
  std::vector<Tensor> originals;
  std::vector<ShardedParameter> sharded;
  int64_t padded_bytes = 0;
  for (const NamedParameter& parameter : model.parameters()) {
    originals.push_back(parameter.var.data().clone());
    sharded.emplace_back(parameter.var, comm);
    padded_bytes += 4 * sharded.back().padded_numel();
  }
  trip.bytes_sharded = parameter_bytes_held();
  for (ShardedParameter& parameter : sharded) {
    parameter.unshard();
  }
  const int64_t bytes_unsharded = parameter_bytes_held();
  const std::vector<NamedParameter> parameters = model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor &now = parameters[i].var.data(), &then = originals[i];
    trip.equal = trip.equal && std::memcmp(now.raw_data(), then.raw_data(), static_cast<size_t>(then.bytes())) == 0;
  }
  for (ShardedParameter& parameter : sharded) {
    parameter.reshard();
  }
  trip.counted = trip.bytes_before == 4 * model.parameter_count() && trip.bytes_sharded * comm.size() == padded_bytes &&
                 bytes_unsharded == trip.bytes_sharded + padded_bytes && parameter_bytes_held() == trip.bytes_sharded;
  return trip;
}
// [/snippet]
