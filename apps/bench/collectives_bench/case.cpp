#include "apps/bench/collectives_bench/case.h"

#include <mpi.h>

#include <algorithm>
#include <span>
#include <utility>

#include "apps/training/failure.h"
#include "tensor/base/check.h"
#include "tensor/base/gpu.h"
#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

constexpr int64_t kBatchBytes = int64_t{4} << 20;
constexpr int64_t kLargestBatch = 256;
constexpr int kRoot = 0;

// The i-th buffer of a batch, in elements.
struct Slots {
  Pools& pools;
  int64_t n;      // of the larger buffer
  int64_t shard;  // of the smaller one
  float* whole_in(int64_t i) const { return pools.in.data() + i * n; }
  float* whole_out(int64_t i) const { return pools.out.data() + i * n; }
};

int as_int(int64_t n) { return static_cast<int>(n); }

// Every rank's input holds rank + 1 (plus the repetition) everywhere, so sums are known.
float value(int rank, int64_t repetition) { return static_cast<float>(rank + 1 + repetition % 7); }

}  // namespace

size_t Pools::bytes(int64_t largest_bytes) { return 2 * static_cast<size_t>(std::max(largest_bytes, kBatchBytes)); }

Pools::Pools(int64_t largest_bytes, std::shared_ptr<Arena> source) : source_(std::move(source)) {
  const size_t n = bytes(largest_bytes) / 2 / sizeof(float);
  in = {static_cast<float*>(source_->acquire(n * sizeof(float))), n};
  out = {static_cast<float*>(source_->acquire(n * sizeof(float))), n};
  fill(in, 1.0F);
  fill(out, 1.0F);
}

void Pools::fill(std::span<float> numbers, float value) const {
  const auto n = static_cast<int64_t>(numbers.size());
  kernels::tables_on(device().kind).fill(DType::F32, numbers.data(), {n}, {1}, static_cast<double>(value));
}

float Pools::result(int64_t i) const {
  float value = 0;
  const float* at = &out[static_cast<size_t>(i)];
  if (device() == Device{}) {
    value = *at;
  } else {
    gpu().copy(&value, at, sizeof value);
  }
  return value;
}

Pools::~Pools() {
  source_->release(in.data(), in.size_bytes());
  source_->release(out.data(), out.size_bytes());
}

const std::vector<std::string>& case_names() {
  static const std::vector<std::string> names = {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce"};
  return names;
}

Case make_case(std::string_view op, int64_t bytes, Communicator& world, Pools& pools, GlooPeer* gloo) {
  const int p = world.size(), r = world.rank();
  const int64_t shard = std::max<int64_t>(1, bytes / static_cast<int64_t>(sizeof(float)) / p);
  const bool sharded = op == "reduce_scatter" || op == "all_gather";
  const int64_t n = sharded ? shard * p : bytes / static_cast<int64_t>(sizeof(float));
  const Slots slot{pools, n, shard};
  const Device device = pools.device();
  const auto view = [device](float* data, int64_t count) { return Buffer(data, count, DType::F32, device); };
  Case one{.op = std::string(op), .bytes = n * static_cast<int64_t>(sizeof(float))};
  one.batch = std::clamp<int64_t>(kBatchBytes / one.bytes, 1, kLargestBatch);
  const double s = static_cast<double>(one.bytes);
  if (op == "all_reduce") {
    one.floor_bytes = 2.0 * p * s;
    one.ours = [=, &world](int64_t i) {
      world.all_reduce(view(slot.whole_in(i), n), view(slot.whole_out(i), n), ReduceOp::Sum);
    };
    one.peers = {{"MPI_Allreduce", [=](int64_t i) {
                    MPI_Allreduce(slot.whole_in(i), slot.whole_out(i), as_int(n), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                  }}};
  } else if (op == "reduce_scatter") {
    one.floor_bytes = (p + 1) * s;
    one.ours = [=, &world](int64_t i) {
      world.reduce_scatter(view(slot.whole_in(i), n), view(slot.whole_out(i), shard), ReduceOp::Sum);
    };
    const std::vector<int> counts(static_cast<size_t>(p), as_int(shard));
    one.peers = {{"MPI_Reduce_scatter_block",
                  [=](int64_t i) {
                    MPI_Reduce_scatter_block(slot.whole_in(i), slot.whole_out(i), as_int(shard), MPI_FLOAT, MPI_SUM,
                                             MPI_COMM_WORLD);
                  }},
                 {"MPI_Reduce_scatter", [=](int64_t i) {
                    MPI_Reduce_scatter(slot.whole_in(i), slot.whole_out(i), counts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
                  }}};
  } else if (op == "all_gather") {
    one.floor_bytes = (p + 1) * s;
    one.ours = [=, &world](int64_t i) { world.all_gather(view(slot.whole_in(i), shard), view(slot.whole_out(i), n)); };
    one.peers = {{"MPI_Allgather", [=](int64_t i) {
                    MPI_Allgather(slot.whole_in(i), as_int(shard), MPI_FLOAT, slot.whole_out(i), as_int(shard), MPI_FLOAT,
                                  MPI_COMM_WORLD);
                  }}};
  } else if (op == "broadcast") {
    one.floor_bytes = p * s;
    one.ours = [=, &world](int64_t i) { world.broadcast(view(r == kRoot ? slot.whole_in(i) : slot.whole_out(i), n), kRoot); };
    one.peers = {{"MPI_Bcast", [=](int64_t i) {
                    MPI_Bcast(r == kRoot ? slot.whole_in(i) : slot.whole_out(i), as_int(n), MPI_FLOAT, kRoot, MPI_COMM_WORLD);
                  }}};
  } else {
    check(op == "reduce", "collectives_bench: no such operation, got {}", op);
    one.floor_bytes = (p + 1) * s;
    one.ours = [=, &world](int64_t i) {
      world.reduce(view(slot.whole_in(i), n), view(slot.whole_out(i), n), ReduceOp::Sum, kRoot);
    };
    one.peers = {{"MPI_Reduce", [=](int64_t i) {
                    MPI_Reduce(slot.whole_in(i), slot.whole_out(i), as_int(n), MPI_FLOAT, MPI_SUM, kRoot, MPI_COMM_WORLD);
                  }}};
  }
  if (gloo != nullptr) {
    const auto elements = static_cast<size_t>(n);
    if (op == "all_reduce") {
      one.gloo = [=](int64_t i) { gloo->all_reduce(slot.whole_in(i), slot.whole_out(i), elements); };
    } else if (op == "all_gather") {
      one.gloo = [=](int64_t i) { gloo->all_gather(slot.whole_in(i), slot.whole_out(i), static_cast<size_t>(shard)); };
    } else if (op == "broadcast") {
      one.gloo = [=](int64_t i) { gloo->broadcast(r == kRoot ? slot.whole_in(i) : slot.whole_out(i), elements, kRoot); };
    } else if (op == "reduce") {
      one.gloo = [=](int64_t i) { gloo->reduce(slot.whole_in(i), slot.whole_out(i), elements, kRoot); };
    }
  }
  if (device != Device{}) {
    one.peers.clear();
  }
  one.right = [=, &pools] {
    const bool moves = op == "all_gather" || op == "broadcast";
    const float all = static_cast<float>(p * (p + 1) / 2);
    const bool has = (op != "reduce" || r == kRoot) && (op != "broadcast" || r != kRoot);
    const int64_t last = op == "reduce_scatter" ? shard - 1 : n - 1;
    const float first_right = moves ? 1.0F : all, last_right = op == "all_gather" ? static_cast<float>(p) : first_right;
    return !has || (pools.result(0) == first_right && pools.result(last) == last_right);
  };
  return one;
}

void dirty(const Case& one, const Communicator& world, const Pools& pools, int64_t repetition) {
  const auto n = static_cast<size_t>(one.bytes * one.batch) / sizeof(float);
  pools.fill(pools.in.first(n), value(world.rank(), repetition));
  pools.fill(pools.out.first(n), -1.0F);
}

void require_right(Communicator& world, const Case& one, const Pools& pools) {
  dirty(one, world, pools, 0);
  one.ours(0);
  std::vector<int32_t> right = {one.right() ? 1 : 0};
  world.all_reduce(right, ReduceOp::Min);
  if (right[0] != 1) {
    throw AgreedFailure(ExitCode::InvariantFailed, message("{} of {} bytes gave a wrong result", one.op, one.bytes));
  }
}

}  // namespace ringlet
