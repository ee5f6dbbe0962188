// Buckets: where they are cut, when they leave, and that nobody can tell from the numbers.
#include "dist/gradient_buckets.h"

#include "autograd/hooks.h"
#include "autograd/ops.h"
#include "collectives/backends/local.h"
#include "dist/ddp.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/report.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

// Parameters "0", "1", … of these numbers of elements.
struct Parameters {
  explicit Parameters(const std::vector<int64_t>& sizes) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      vars.push_back(module.parameter(std::to_string(i), Tensor::full({sizes[i]}, 1.0)));
    }
  }
  ToyModule module;
  std::vector<Var> vars;
};

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

Ranges ranges_of(const std::vector<Bucket>& buckets) {
  Ranges ranges;
  for (const Bucket& bucket : buckets) {
    ranges.emplace_back(bucket.begin, bucket.end);
  }
  return ranges;
}

}  // namespace

TEST_CASE("buckets are cut from the end, between parameters, the first one small; the padding is in it", "[buckets]") {
  struct Row {
    const char* what;
    std::vector<int64_t> sizes;
    int shards;
    BucketSizes limits;  // in bytes, 4 an element
    Ranges expected;
  };
  const std::vector<Row> rows{
      {"everything fits", {10, 20, 30}, 1, {}, {{0, 60}}},
      {"one each", {10, 20, 30}, 1, {1, 1}, {{30, 60}, {10, 30}, {0, 10}}},
      {"filled to the byte", {10, 20, 30}, 1, {120, 120}, {{30, 60}, {0, 30}}},
      {"one byte less", {10, 20, 30}, 1, {120, 119}, {{30, 60}, {10, 30}, {0, 10}}},
      {"small first", {5, 5, 5, 5}, 1, {20, 60}, {{15, 20}, {0, 15}}},
      {"a parameter larger than a bucket", {5, 100, 5}, 1, {40, 40}, {{105, 110}, {5, 105}, {0, 5}}},
      {"padding", {10, 20, 31}, 4, {1, 1}, {{30, 64}, {10, 30}, {0, 10}}},
      {"one parameter", {7}, 3, {1, 1}, {{0, 9}}},
      {"no element", {4, 0, 4}, 1, {16, 16}, {{4, 8}, {0, 4}}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Parameters parameters(row.sizes);
    const FlatParameter flat(parameters.module.parameters(), row.shards);
    CHECK(ranges_of(cut_buckets(flat, row.limits)) == row.expected);
  }
  Parameters parameters({3});
  const FlatParameter flat(parameters.module.parameters(), 1);
  CHECK_THROWS_AS(cut_buckets(flat, {0, 1}), Error);
  CHECK_THROWS_AS(cut_buckets(flat, {1, -1}), Error);
}

TEST_CASE("a bucket leaves when its last gradient is ready, while the layers below are still to come", "[buckets]") {
  Parameters parameters({2, 2, 2});
  const Var &a = parameters.vars[0], &b = parameters.vars[1], &c = parameters.vars[2];
  const FlatParameter flat(parameters.module.parameters(), 1);
  std::vector<std::string> events;
  GradientBuckets buckets(flat, {1, 1},
                          [&](int64_t begin, int64_t) { events.push_back("bucket at " + std::to_string(begin)); });
  const auto run = [&] {
    const Var x = on_backward(square(a), [&] { events.emplace_back("layer a"); });
    const Var y = on_backward(x * b, [&] { events.emplace_back("layer b"); });
    backward(sum(y * c));
  };
  run();
  CHECK(events == std::vector<std::string>{"layer b", "layer a"});  // not opened: nothing leaves

  events.clear();
  buckets.open();
  run();
  CHECK(events == std::vector<std::string>{"bucket at 4", "layer b", "bucket at 2", "layer a", "bucket at 0"});
  buckets.send_rest();
  CHECK(events.size() == 5);

  events.clear();
  buckets.reset();
  run();
  CHECK(events.size() == 2);
}

TEST_CASE("buckets leave in one order, whatever is ready or never will be", "[buckets]") {
  struct Row {
    const char* what;
    std::vector<size_t> used;  // by the loss, in this order
    size_t during_backward;    // how many buckets leave before it is over
  };
  for (const Row& row : {Row{"all", {0, 1, 2}, 3},
                         {"the last unused", {0, 1}, 0},
                         {"the middle unused", {0, 2}, 1},
                         {"the first unused", {1, 2}, 2},
                         {"none", {}, 0}}) {
    INFO(row.what);
    Parameters parameters({2, 2, 2});
    const FlatParameter flat(parameters.module.parameters(), 1);
    std::vector<int64_t> sent;
    GradientBuckets buckets(flat, {1, 1}, [&](int64_t begin, int64_t) { sent.push_back(begin); });
    buckets.open();
    Var loss(Tensor::zeros({}), true);
    for (const size_t i : row.used) {
      loss = loss + sum(parameters.vars[i]);
    }
    backward(loss);
    CHECK(sent.size() == row.during_backward);
    buckets.send_rest();
    CHECK(sent == std::vector<int64_t>{4, 2, 0});
  }
}

TEST_CASE("a gradient that becomes ready again after its bucket left is an error", "[buckets]") {
  Parameters parameters({2, 2});
  const FlatParameter flat(parameters.module.parameters(), 1);
  GradientBuckets buckets(flat, {}, [](int64_t, int64_t) {});
  buckets.open();
  backward(sum(parameters.vars[1]));
  CHECK_THROWS_WITH(backward(sum(parameters.vars[1])), Catch::Contains("the gradient of 1 became ready twice"));
  buckets.reset();
  buckets.open();
  backward(sum(parameters.vars[1]));
}

TEST_CASE("hooks of buckets that are gone do nothing", "[buckets]") {
  Parameters parameters({2});
  const FlatParameter flat(parameters.module.parameters(), 1);
  int sent = 0;
  {
    GradientBuckets buckets(flat, {}, [&](int64_t, int64_t) { ++sent; });
    buckets.open();
  }
  backward(sum(parameters.vars[0]));
  CHECK(sent == 0);
}

TEST_CASE("where buckets are cut changes no bit, on any number of ranks and micro-batches [A4] [H11]", "[buckets]") {
  for (const int64_t micro_batches : {4, 8, 11}) {  // some ranks of 8 have none, one, or several; up to three partial sums wait
    for (const int ranks : {1, 2, 3, 4, 8}) {
      TrainOptions options{.strategy = "ddp", .ranks = ranks, .micro_batches = micro_batches, .steps = 3};
      const TrainLog whole = train_gpt(options).front();  // one bucket
      for (const BucketSizes& sizes : {BucketSizes{1, 1}, {100, 1000}, {1, 4000}}) {
        INFO(micro_batches << " micro-batches on " << ranks << " ranks, buckets of " << sizes.first_bytes << " and "
                           << sizes.bytes);
        options.parallel.buckets = sizes;
        for (const TrainLog& log : train_gpt(options)) {
          CHECK(log.replicas_equal);
          CHECK(log.hashes == whole.hashes);
          CHECK(same_bits(log.results.back().grad_norm, whole.results.back().grad_norm));
        }
      }
    }
  }
}

TEST_CASE("DDP communicates once per bucket and step; under no_sync not at all", "[buckets]") {
  auto report = per_rank<std::vector<uint64_t>>(2);
  run_ranks(2, [&](Communicator& comm) {
    Parameters parameters({4, 4, 4});
    const auto loss = [&](const Tensor&, const Tensor&) {
      return TokenLoss{sum(parameters.vars[0] * parameters.vars[1] * parameters.vars[2]), 1};
    };
    Ddp parallel(parameters.module, loss, comm, sgd(), {.buckets = {1, 1}});
    std::vector<uint64_t>& calls = report[static_cast<size_t>(comm.rank())];
    uint64_t before = comm.sequence();
    const auto count = [&] {
      calls.push_back(comm.sequence() - before);
      before = comm.sequence();
    };
    LossSum sums;
    {
      const auto local = parallel.no_sync(true);
      sums += parallel.forward_backward({}, {});
    }
    count();
    sums += parallel.forward_backward({}, {});
    count();
    static_cast<void>(parallel.finish(sums, 0.0));
    count();
    parallel.step(0.1);
    count();
  });
  // Nothing; the three buckets, during backward; the loss, the count and the norm in one; nothing.
  CHECK(report[0] == std::vector<uint64_t>{0, 3, 1, 0});
  CHECK(report[1] == report[0]);
}

TEST_CASE("a dropped step leaves nothing behind in the buckets", "[buckets]") {
  const auto comm = make_local();
  Parameters parameters({2});
  const Var w = parameters.vars[0];
  Ddp parallel(
      parameters.module,
      [&](const Tensor& c, const Tensor&) {
        return TokenLoss{sum(w * Var(c)), 1};
      },
      *comm, sgd());
  parallel.forward_backward(floats({100, 100}), {});
  parallel.skip();
  LossSum loss;
  loss += parallel.forward_backward(floats({1, 2}), {});
  static_cast<void>(parallel.finish(loss, 0.0));
  parallel.step(0.5);
  CHECK(w.data().to_vector() == std::vector<double>{0.5, 0.0});
}
