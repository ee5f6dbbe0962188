// Every algorithm by name: the right sums, in order T where it says so, and as many messages and bytes as its header promises.
#include <cmath>
#include <numeric>

#include "collectives/chunks.h"
#include "test/support/catch.h"
#include "test/support/counting_transport.h"
#include "test/support/report.h"
#include "test/support/run_ranks.h"
#include "test/support/serial_reference.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

// Runs `body` on `ranks` threads whose communicators use `algorithms`; returns the failures, and what rank r sent in sent[r].
std::vector<std::string> run_counted(int ranks, Algorithms algorithms, const std::function<void(Communicator&, Report&)>& body,
                                     std::vector<Traffic>* sent = nullptr) {
  std::vector<Report> reports(static_cast<size_t>(ranks), Report());
  std::vector<Traffic> traffic(static_cast<size_t>(ranks));
  const auto hub = std::make_shared<MailboxHub>(ranks, std::chrono::seconds(20));
  run_ranks(ranks, [&](Communicator& outer) {
    const auto r = static_cast<size_t>(outer.rank());
    const auto world =
        make_p2p(std::make_unique<CountingTransport>(hub->join(outer.rank()), traffic[r]), "threads", algorithms);
    body(*world, reports[r]);
  });
  if (sent != nullptr) {
    *sent = traffic;
  }
  std::vector<std::string> failures;
  for (const Report& report : reports) {
    failures.insert(failures.end(), report.failures().begin(), report.failures().end());
  }
  return failures;
}

bool power_of_two(int ranks) { return (ranks & (ranks - 1)) == 0; }

constexpr Algorithm kCanonical[] = {Algorithm::Auto, Algorithm::Direct, Algorithm::OneShot, Algorithm::RecursiveDoubling,
                                    Algorithm::BinomialTree};

// |ring − exact| is at most (P − 1)·eps·Σ|x|: one rounding per addition, each of a partial sum that is at most Σ|x|.
void expect_within_bound(Report& report, float got, int ranks, int64_t i) {
  double exact = 0, magnitude = 0;
  for (int r = 0; r < ranks; ++r) {
    exact += static_cast<double>(input_value<float>(r, i));
    magnitude += std::abs(static_cast<double>(input_value<float>(r, i)));
  }
  const double bound = (ranks - 1) * 0x1p-23 * magnitude;
  report.expect(std::abs(static_cast<double>(got) - exact) <= bound, "element {}: got {}, exact {}, bound {}", i, got, exact,
                bound);
}

// The elements that rank r of P sends: all chunks but one, once (reduce_scatter or all_gather).
int64_t elements_but_chunk(int64_t n, int ranks, int but) {
  std::vector<float> data(static_cast<size_t>(n));
  return n - static_cast<int64_t>(Chunks<float>(data, ranks)[but].size());
}

}  // namespace

TEST_CASE("canonical all_reduces agree with order T to the bit at 1 to 16 ranks", "[algorithms]") {
  for (const Algorithm algorithm : kCanonical) {
    for (int ranks = 1; ranks <= 16; ++ranks) {
      if (algorithm == Algorithm::RecursiveDoubling && !power_of_two(ranks)) {
        continue;
      }
      INFO(name_of(algorithm) << " at " << ranks << " ranks");
      const auto failures = run_counted(ranks, {.all_reduce = algorithm}, [&](Communicator& world, Report& report) {
        for (const int64_t n : {1, ranks - 1, ranks + 1, 1000}) {
          std::vector<float> data = input_of<float>(world.rank(), n);
          world.all_reduce(data, ReduceOp::Avg);
          for (int64_t i = 0; i < n; ++i) {
            const float right = reduced_value<float>(ReduceOp::Avg, ranks, i);
            report.expect(same_bits(data[static_cast<size_t>(i)], right), "{} of {}", i, n);
          }
        }
      });
      CHECK(failures == std::vector<std::string>());
    }
  }
}

TEST_CASE("the ring is right within the bound of its additions, and its integers are exact", "[algorithms]") {
  const Algorithms ring{.all_reduce = Algorithm::Ring, .all_gather = Algorithm::Ring, .reduce_scatter = Algorithm::Ring};
  for (int ranks = 1; ranks <= 8; ++ranks) {
    INFO(ranks << " ranks");
    const auto failures = run_counted(ranks, ring, [&](Communicator& world, Report& report) {
      const int r = world.rank();
      for (const int64_t n : {1, ranks - 1, ranks, ranks + 1, 1000}) {
        std::vector<float> sum = input_of<float>(r, n);
        world.all_reduce(sum, ReduceOp::Sum);
        for (int64_t i = 0; i < n; ++i) {
          expect_within_bound(report, sum[static_cast<size_t>(i)], ranks, i);
        }
        std::vector<double> mean(static_cast<size_t>(n), r + 1.0);
        world.all_reduce(mean, ReduceOp::Avg);
        for (const double one : mean) {  // 1 + 2 + … + P is exact
          report.expect(one == ranks * (ranks + 1) / 2.0 / ranks, "mean of {} elements: got {}", n, one);
        }
        std::vector<int64_t> whole = input_of<int64_t>(r, n * ranks), shard(static_cast<size_t>(n)), full(whole.size());
        world.reduce_scatter(whole, shard, ReduceOp::Sum);
        world.all_gather(shard, full);
        const std::span<int64_t> own = std::span(whole).subspan(static_cast<size_t>(r * n), static_cast<size_t>(n));
        world.reduce_scatter(whole, own, ReduceOp::Sum);
        for (int64_t i = 0; i < n * ranks; ++i) {
          const int64_t right = reduced_value<int64_t>(ReduceOp::Sum, ranks, i);
          report.expect(full[static_cast<size_t>(i)] == right, "reduce_scatter and all_gather, element {}", i);
        }
        report.expect(std::equal(own.begin(), own.end(), shard.begin()), "in place");
      }
    });
    CHECK(failures == std::vector<std::string>());
  }
}

TEST_CASE("ranks send as many messages and bytes as the formulas say", "[algorithms]") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (const int64_t n : {ranks - 1, ranks + 1, 1000}) {
      if (n == 0) {
        continue;
      }
      const int64_t P = ranks;
      INFO(ranks << " ranks, " << n << " elements");
      const auto all_reduce = [&](Communicator& world, Report&) {
        std::vector<float> data(static_cast<size_t>(n));
        world.all_reduce(data, ReduceOp::Sum);
      };
      std::vector<Traffic> sent;
      run_counted(ranks, {.all_reduce = Algorithm::Ring}, all_reduce, &sent);
      for (int r = 0; r < ranks; ++r) {  // every chunk but r + 1 in the first half, every chunk but r + 2 in the second
        const int64_t elements = elements_but_chunk(n, ranks, r + 1) + elements_but_chunk(n, ranks, r + 2);
        CHECK(sent[static_cast<size_t>(r)].messages == 2 * (P - 1));
        CHECK(sent[static_cast<size_t>(r)].bytes == (P == 1 ? 0 : 4 * elements));
      }
      run_counted(ranks, {.all_reduce = Algorithm::Direct}, all_reduce, &sent);
      int64_t total = 0;
      for (int r = 0; r < ranks; ++r) {
        CHECK(sent[static_cast<size_t>(r)].messages <= 2 * (P - 1));
        total += sent[static_cast<size_t>(r)].bytes;
      }
      CHECK(total == 4 * 2 * n * (P - 1));  // as few as the ring
      run_counted(ranks, {.all_reduce = Algorithm::OneShot}, all_reduce, &sent);
      CHECK(sent[0].messages == P - 1);
      CHECK(sent[0].bytes == 4 * n * (P - 1));
      if (power_of_two(ranks)) {
        const auto rounds = static_cast<int64_t>(std::log2(ranks));
        run_counted(ranks, {.all_reduce = Algorithm::RecursiveDoubling}, all_reduce, &sent);
        CHECK(sent[0].messages == rounds);
        CHECK(sent[0].bytes == 4 * n * rounds);
      }
    }
  }
}

TEST_CASE("a broadcast is a barrier, and then every rank is sent the data once; a barrier sends no bytes", "[algorithms]") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    INFO(ranks << " ranks");
    std::vector<Traffic> sent;
    const auto sum = [](int64_t total, const Traffic& one) { return total + one.messages; };
    const auto rounds = static_cast<int64_t>(std::ceil(std::log2(ranks)));
    const auto broadcast = [](Communicator& world, Report&) {
      std::vector<float> data(10);
      world.broadcast(data, world.size() / 2);
    };
    run_counted(ranks, {}, broadcast, &sent);
    CHECK(std::accumulate(sent.begin(), sent.end(), int64_t{0}, sum) == ranks * rounds + ranks - 1);
    CHECK(sent[static_cast<size_t>(ranks / 2)].messages == 2 * rounds);
    run_counted(
        ranks, {}, [](Communicator& world, Report&) { world.barrier(); }, &sent);
    CHECK(std::accumulate(sent.begin(), sent.end(), int64_t{0}, sum) == ranks * rounds);
    CHECK(sent[0].bytes == 0);
  }
}

TEST_CASE("zero elements send no message [G1]", "[algorithms]") {
  for (const Algorithm algorithm : {Algorithm::Auto, Algorithm::Ring}) {
    std::vector<Traffic> sent;
    const auto body = [](Communicator& world, Report&) {
      const Buffer none(nullptr, 0, DType::F32);
      world.all_reduce(none, ReduceOp::Sum);
      world.all_gather(none, none);
      world.reduce_scatter(none, none, ReduceOp::Sum);
      world.broadcast(none, 0);
    };
    run_counted(4, {.all_reduce = algorithm, .all_gather = algorithm, .reduce_scatter = algorithm}, body, &sent);
    for (const Traffic& one : sent) {
      CHECK(one.messages == 0);
    }
  }
}

TEST_CASE("an algorithm that an operation does not have is an error", "[algorithms]") {
  const Call call{.operation = Operation::AllGather};
  CHECK_THROWS_WITH(select(call, 4, Algorithm::BinomialTree), "all_gather: has no algorithm 'binomial_tree'");
  const Call sum{.operation = Operation::AllReduce};
  CHECK_THROWS_WITH(select(sum, 6, Algorithm::RecursiveDoubling),
                    "all_reduce: recursive_doubling needs a power of two of ranks, got 6");
  CHECK(algorithm_named("ring") == Algorithm::Ring);
  CHECK_THROWS_WITH(algorithm_named("star"),
                    "algorithm: must be one of auto, direct, one_shot, recursive_doubling, "
                    "binomial_tree, ring, got 'star'");
}

TEST_CASE("bf16 is never doubled by default, for doubling rounds at every step", "[algorithms]") {
  const std::vector<bf16> data(4);
  const Call call{.operation = Operation::AllReduce, .in = data};
  CHECK(select(call, 8) == Algorithm::OneShot);
  const std::vector<float> wide(4);
  CHECK(select(Call{.operation = Operation::AllReduce, .in = wide}, 8) == Algorithm::RecursiveDoubling);
}
