// Every algorithm of every operation at 1 to 16 ranks and sizes around every edge: the right result, in order T where it says so,
// and from every rank exactly as many messages and bytes as the closed form of the cost model.
#include <cmath>
#include <numeric>

#include "collectives/algorithms/cost_model.h"
#include "collectives/chunks.h"
#include "test/support/catch.h"
#include "test/support/counting_transport.h"
#include "test/support/report.h"
#include "test/support/run_ranks.h"
#include "test/support/serial_reference.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

using Body = std::function<void(Communicator&, Report&, const Traffic& sent)>;

// Runs `body` on `ranks` threads whose communicators use `algorithms` and count what they send; returns the failures.
std::vector<std::string> run_counted(int ranks, const Algorithms& algorithms, const Body& body) {
  std::vector<Report> reports(static_cast<size_t>(ranks), Report());
  const auto hub = std::make_shared<MailboxHub>(ranks, std::chrono::seconds(20));
  run_ranks(ranks, [&](Communicator& outer) {
    Traffic sent;
    const auto world = make_p2p(std::make_unique<CountingTransport>(hub->join(outer.rank()), sent), "threads", algorithms);
    body(*world, reports[static_cast<size_t>(outer.rank())], sent);
  });
  std::vector<std::string> failures;
  for (const Report& report : reports) {
    failures.insert(failures.end(), report.failures().begin(), report.failures().end());
  }
  return failures;
}

// One operation with one algorithm, as one rank of P runs and judges it.
struct Trial {
  Communicator& world;
  Report& report;
  const Traffic& sent;
  Operation operation;
  Algorithm algorithm;
  int root;

  int P() const { return world.size(); }
  int r() const { return world.rank(); }

  // Floats in another order than T: at most P roundings of partial sums, each at most Σ|x|; the factor of Avg only shrinks it.
  template <typename T>
  void expect_element(T got, Reduction op, int64_t i) {
    const T right = reduced_value<T>(op, P(), i);
    if (keeps_order(operation, algorithm, P(), dtype_of<T>) || !is_floating(dtype_of<T>)) {
      return report.expect(same_bits(got, right), "{}, element {}: not the bits of order T", op, i);
    }
    double magnitude = 0;
    for (int rank = 0; rank < P(); ++rank) {
      magnitude += std::abs(static_cast<double>(input_value<T>(rank, i)));
    }
    const double eps = std::is_same_v<T, bf16> ? 0x1p-8 : 0x1p-23;
    const double bound = (P() + 1) * eps * magnitude;
    const double error = std::abs(static_cast<double>(got) - static_cast<double>(right));
    report.expect(error <= bound, "{}, element {}: off by {}, bound {}", op, i, error, bound);
  }
  template <typename T>
  void expect_reduced(std::span<const T> got, Reduction op, int64_t first) {
    for (size_t i = 0; i<got.size(); i += got.size()> 3000 ? 97 : 1) {
      expect_element<T>(got[i], op, first + static_cast<int64_t>(i));
    }
  }
  template <typename T>
  void expect_shards(std::span<const T> got, int64_t n) {
    for (size_t i = 0; i < got.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      report.expect(same_bits(got[i], input_value<T>(static_cast<int>(at / n), at % n)), "element {} of {} shards", i, P());
    }
  }

  // n elements: of the vector, or where the operation has parts, of a part.
  template <typename T>
  void run(int64_t n, Reduction op) {
    const bool parts = operation == Operation::ReduceScatter || operation == Operation::AllGather ||
                       operation == Operation::Gather || operation == Operation::Scatter || operation == Operation::AllToAll;
    const int64_t whole = parts ? n * P() : n;
    const std::vector<T> in = input_of<T>(r(), n), long_in = input_of<T>(r(), whole);
    std::vector<T> out(static_cast<size_t>(n)), long_out(static_cast<size_t>(whole)), data = in;
    const Traffic before = sent;
    switch (operation) {
      case Operation::AllReduce:
        world.all_reduce(in, out, op);
        expect_reduced<T>(out, op, 0);
        break;
      case Operation::Reduce:
        world.reduce(in, out, op, root);
        r() == root ? expect_reduced<T>(out, op, 0) : void();
        break;
      case Operation::ReduceScatter:
        world.reduce_scatter(long_in, out, op);
        expect_reduced<T>(out, op, r() * n);
        break;
      case Operation::AllGather:
        world.all_gather(in, long_out);
        expect_shards<T>(long_out, n);
        break;
      case Operation::Gather:
        world.gather(in, long_out, root);
        r() == root ? expect_shards<T>(long_out, n) : void();
        break;
      case Operation::Scatter:
        world.scatter(long_in, out, root);
        for (int64_t i = 0; i < n; ++i) {
          report.expect(same_bits(out[static_cast<size_t>(i)], input_value<T>(root, r() * n + i)), "element {}", i);
        }
        break;
      case Operation::AllToAll:
        world.all_to_all(long_in, long_out);
        for (int64_t i = 0; i < whole; ++i) {
          const T right = input_value<T>(static_cast<int>(i / n), r() * n + i % n);
          report.expect(same_bits(long_out[static_cast<size_t>(i)], right), "element {}", i);
        }
        break;
      case Operation::Broadcast:
        world.broadcast(data, root);
        report.expect(std::equal(data.begin(), data.end(), input_of<T>(root, n).begin(), same_bits<T>), "root {}", root);
        break;
      default: world.barrier(); break;
    }
    const Traffic moved{sent.messages - before.messages, sent.bytes - before.bytes};
    const bool nothing = n == 0 && has_buffers(operation);
    const Traffic right = nothing ? Traffic{} : traffic_of(operation, algorithm, {whole, sizeof(T), P(), root}, r());
    report.expect(moved == right, "{} elements of {}: sent {} messages, {} bytes; by the formula {}, {}", whole, dtype_of<T>,
                  moved.messages, moved.bytes, right.messages, right.bytes);
  }
};

constexpr Operation kOperations[] = {Operation::Broadcast, Operation::Reduce,        Operation::AllReduce,
                                     Operation::AllGather, Operation::ReduceScatter, Operation::Gather,
                                     Operation::Scatter,   Operation::AllToAll,      Operation::Barrier};

void try_everything(Trial trial) {
  const int P = trial.P();
  for (const int64_t n : {0, 1, P - 1, P, P + 1, 2 * P - 1, 2 * P + 1, 1000}) {
    trial.run<float>(n, ReduceOp::Sum);
  }
  trial.run<bf16>(2 * P + 1, ReduceOp::Avg);
  trial.run<double>(P + 1, pre_mul_sum(0.3F));
  trial.run<int32_t>(P + 1, ReduceOp::Prod);
  trial.run<uint8_t>(P - 1, ReduceOp::Max);
}

}  // namespace

TEST_CASE("every algorithm is right, and sends what its closed form says, at 1 to 16 ranks", "[algorithms]") {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    for (const Operation operation : kOperations) {
      for (const Algorithm algorithm : algorithms_of(operation, ranks)) {
        INFO(name_of(operation) << " by " << name_of(algorithm) << " on " << ranks << " ranks");
        const auto failures = run_counted(ranks, Algorithms{.wherever = algorithm}, [&](auto& world, auto& report, auto& sent) {
          try_everything({world, report, sent, operation, algorithm, (ranks * 2 / 3) % ranks});
        });
        CHECK(failures == std::vector<std::string>());
      }
    }
  }
}

TEST_CASE("in segments every algorithm is as right, and sends as its closed form says", "[algorithms]") {
  for (const int ranks : {4, 6}) {
    for (const Operation operation : {Operation::Reduce, Operation::AllReduce, Operation::ReduceScatter}) {
      for (const Algorithm algorithm : algorithms_of(operation, ranks)) {
        INFO(name_of(operation) << " by " << name_of(algorithm) << " on " << ranks << " ranks");
        const auto failures = run_counted(ranks, Algorithms{.wherever = algorithm}, [&](auto& world, auto& report, auto& sent) {
          Trial trial{world, report, sent, operation, algorithm, 1};
          trial.template run<float>(operation == Operation::ReduceScatter ? 400003 : 700001, ReduceOp::Sum);
        });
        CHECK(failures == std::vector<std::string>());
      }
    }
  }
}

TEST_CASE("an algorithm holds as much scratch memory as its closed form says", "[algorithms]") {
  for (const int ranks : {2, 3, 4, 6, 8}) {
    for (const Operation operation : {Operation::Reduce, Operation::AllReduce, Operation::ReduceScatter}) {
      for (const Algorithm algorithm : algorithms_of(operation, ranks)) {
        for (const int64_t n : {1001, 300007}) {
          INFO(name_of(operation) << " by " << name_of(algorithm) << " on " << ranks << " ranks, " << n);
          std::vector<int64_t> peaks(static_cast<size_t>(ranks));
          run_counted(ranks, Algorithms{.wherever = algorithm}, [&](Communicator& world, Report& report, const Traffic& sent) {
            Trial{world, report, sent, operation, algorithm, 0}.run<float>(n, ReduceOp::Sum);
            peaks[static_cast<size_t>(world.rank())] = Allocator::current()->ledger().of(Category::Communication).peak;
          });
          const int64_t whole = operation == Operation::ReduceScatter ? n * ranks : n;
          CHECK(*std::max_element(peaks.begin(), peaks.end()) == scratch_of(operation, algorithm, {whole, 4, ranks}));
        }
      }
    }
  }
}
