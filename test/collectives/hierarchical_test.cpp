// Two levels of groups, on ranks as threads: the bits of order T, what each level sends, and mistakes that all hear of.
#include "collectives/algorithms/hierarchical.h"

#include <bit>
#include <set>
#include <thread>

#include "test/collectives/disagreement.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"
#include "test/support/serial_reference.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

// Ranks as threads that believe to be on the hosts of `map`; rank r's failures are in the result at r.
std::vector<Report> run_on_hosts(const HostMap& map, const std::function<void(Communicator&, Report&)>& body) {
  const int ranks = static_cast<int>(map.host_of.size());
  std::vector<Report> reports(map.host_of.size());
  const auto hub = std::make_shared<MailboxHub>(ranks, std::chrono::seconds(20));
  run_ranks(ranks, [&](Communicator& outer) {
    std::unique_ptr<PointToPoint> net = hub->join(outer.rank());
    Hosts hosts = make_hosts(*net, map, "threads", {}, [](std::unique_ptr<Communicator> one) { return one; });
    const auto world = make_p2p(std::move(net), "threads", {}, "world", std::move(hosts));
    body(*world, reports[static_cast<size_t>(outer.rank())]);
  });
  return reports;
}

void require_clean(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    CHECK(report.failures() == std::vector<std::string>());
    CHECK(report.checks() > 0);
  }
}

// Of every dtype more elements than kHierarchicalBytes has bytes, and not a multiple of any number of ranks.
constexpr int64_t kLong = 16411;

template <typename T>
void expect_order_t(Communicator& world, Report& report, Reduction op) {
  const std::vector<T> in = input_of<T>(world.rank(), kLong);
  std::vector<T> out(in.size()), same = in;
  world.all_reduce(in, out, op);
  world.all_reduce(same, op);
  for (size_t i = 0; i < in.size(); i += 37) {
    const T right = reduced_value<T>(op, world.size(), static_cast<int64_t>(i));
    report.expect(same_bits(out[i], right) && same_bits(same[i], right), "{} of {}: element {}", op, dtype_of<T>, i);
    report.expect(same_bits(in[i], input_value<T>(world.rank(), static_cast<int64_t>(i))), "input after");
  }
}

// The same of reduce_scatter and all_gather: of every dtype more elements than kHierarchicalHalfBytes has bytes.
template <typename T>
void expect_halves(Communicator& world, Report& report, Reduction op) {
  const auto P = static_cast<size_t>(world.size()), r = static_cast<size_t>(world.rank());
  const size_t n = kHierarchicalHalfBytes / P + 3;
  const std::vector<T> in = input_of<T>(world.rank(), static_cast<int64_t>(n * P));
  std::vector<T> shard(n), whole(n * P), in_place = in;
  const std::span<T> mine = std::span(in_place).subspan(r * n, n);
  world.reduce_scatter(in, shard, op);
  world.all_gather(shard, whole);
  world.reduce_scatter(in_place, mine, op);
  const std::vector<T> summed(mine.begin(), mine.end());
  world.all_gather(mine, in_place);
  for (size_t i = 0; i < in.size(); i += 7) {
    const T right = reduced_value<T>(op, world.size(), static_cast<int64_t>(i));
    report.expect(same_bits(whole[i], right) && same_bits(in_place[i], right), "{} of {}: element {}", op, dtype_of<T>, i);
    report.expect(i / n != r || same_bits(summed[i % n], right), "{} of {} in place: element {}", op, dtype_of<T>, i);
  }
}

}  // namespace

TEST_CASE("two levels take the memory that their formula says, of the rank's allocator, whichever thread calls",
          "[hierarchical]") {
  for (const HostMap& map : {HostMap{{0, 0, 2, 2}}, HostMap{{0, 0, 2, 2, 4, 4}}, HostMap{{0, 0, 0, 0, 4, 4, 4, 4}}}) {
    for (const Operation operation : {Operation::AllReduce, Operation::ReduceScatter, Operation::AllGather}) {
      for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
        require_clean(run_on_hosts(map, [&](Communicator& world, Report& report) {
          const int64_t n = 24 * 40000;
          std::vector<double> in(static_cast<size_t>(n)), out(in.size());
          Call call = formula_call(operation, n, dtype, world.size());
          const Buffer from(in.data(), call.in.count, dtype), to(out.data(), call.out.count, dtype);
          std::thread([&] {
            operation == Operation::AllReduce       ? world.all_reduce(from, to, ReduceOp::Sum)
            : operation == Operation::ReduceScatter ? world.reduce_scatter(from, to, ReduceOp::Sum)
                                                    : world.all_gather(from, to);
          }).join();
          const int64_t peak = Allocator::current()->ledger().of(Category::Communication).peak;
          report.expect(peak == world.scratch_bytes(call), "{} of {} on {}: {} bytes, by the formula {}", operation, dtype,
                        world.size(), peak, world.scratch_bytes(call));
          report.expect(world.moved()->bytes > 0, "moved nothing");
        }));
      }
    }
  }
}

TEST_CASE("reduce_scatter and all_gather in two levels have the bits of order T", "[hierarchical]") {
  for (const HostMap& map : {HostMap{{0, 0, 2, 2}}, HostMap{{0, 0, 0, 0, 4, 4, 4, 4}}, HostMap{{0, 0, 2, 2, 4, 4}}}) {
    require_clean(run_on_hosts(map, [&](Communicator& world, Report& report) {
      for (const Reduction op :
           {Reduction(ReduceOp::Sum), Reduction(ReduceOp::Avg), Reduction(ReduceOp::Max), pre_mul_sum(0.3F)}) {
        expect_halves<float>(world, report, op);
        expect_halves<bf16>(world, report, op);
      }
      expect_halves<int32_t>(world, report, ReduceOp::Sum);
      const Moved before = *world.moved();
      std::vector<float> shard(kHierarchicalHalfBytes / sizeof(float)), whole(shard.size() * static_cast<size_t>(world.size()));
      world.all_gather(shard, whole);
      const auto hosts = static_cast<int>(std::set(map.host_of.begin(), map.host_of.end()).size()),
                 inside = world.size() / hosts;
      const auto sent_by = [&](int ranks, int64_t bytes) {
        const Algorithm algorithm = select(formula_call(Operation::AllGather, bytes, DType::U8, ranks), ranks);
        return traffic_of(Operation::AllGather, algorithm, {bytes, 1, ranks}, 0);
      };
      const auto n = static_cast<int64_t>(kHierarchicalHalfBytes);
      const Traffic between = sent_by(hosts, n * hosts), here = sent_by(inside, n * inside);
      const Moved now = *world.moved();  // each level is counted, and so is the agreement of all
      report.expect(now.messages - before.messages ==
                        std::bit_width(static_cast<unsigned>(world.size() - 1)) + between.messages + hosts * here.messages,
                    "{} messages", now.messages - before.messages);
      report.expect(now.bytes - before.bytes == between.bytes + hosts * here.bytes, "{} bytes", now.bytes - before.bytes);
    }));
  }
}

TEST_CASE("a hierarchical all_reduce has the bits of order T where hosts hold 2^k neighbours", "[hierarchical]") {
  for (const HostMap& map : {HostMap{{0, 0, 2, 2}}, HostMap{{0, 0, 0, 0, 4, 4, 4, 4}}, HostMap{{0, 0, 2, 2, 4, 4}}}) {
    CHECK(map.keeps_order());
    require_clean(run_on_hosts(map, [](Communicator& world, Report& report) {
      report.expect(world.transport() == "hierarchical", "got {}", world.transport());
      for (const Reduction op :
           {Reduction(ReduceOp::Sum), Reduction(ReduceOp::Avg), Reduction(ReduceOp::Max), pre_mul_sum(0.3F)}) {
        expect_order_t<float>(world, report, op);
        expect_order_t<bf16>(world, report, op);
      }
      expect_order_t<double>(world, report, ReduceOp::Prod);
      expect_order_t<int32_t>(world, report, ReduceOp::Sum);
      std::vector<float> few(3, 1.0F);  // a short one goes by messages, among all at once
      world.all_reduce(few, ReduceOp::Sum);
      report.expect(few[2] == static_cast<float>(world.size()), "short: got {}", few[2]);
    }));
  }
}

TEST_CASE("hosts in any order give integers exactly, but not order T", "[hierarchical]") {
  const HostMap apart{{0, 1, 0, 1}}, threes{{0, 0, 0, 3, 3, 3}};
  for (const HostMap& map : {apart, threes}) {
    CHECK(map.even());
    CHECK(!map.keeps_order());
    require_clean(run_on_hosts(map, [](Communicator& world, Report& report) {
      expect_order_t<int64_t>(world, report, ReduceOp::Sum);
      expect_order_t<uint8_t>(world, report, ReduceOp::Min);
      expect_halves<int64_t>(world, report, ReduceOp::Sum);  // flat where a host is no block
    }));
  }
  CHECK(apart.index(2) == 1);
  CHECK(!HostMap{{0, 0, 0, 0}}.even());  // one host
  CHECK(!HostMap{{0, 1, 2}}.even());     // one rank on each
  CHECK(!HostMap{{0, 0, 2}}.even());
}

TEST_CASE("ranks on hosts that disagree are told in what [H6]", "[hierarchical]") {
  const auto sum_of = [](Communicator& world, int64_t n, ReduceOp op) {
    std::vector<float> data(static_cast<size_t>(n));
    world.all_reduce(data, op);
  };
  for (const bool count : {true, false}) {
    std::vector<std::string> texts(4);
    const auto body = [&](Communicator& world, Report&) {
      try {
        const bool odd = world.rank() == 3;
        sum_of(world, kLong + (odd && count ? 1 : 0), odd && !count ? ReduceOp::Max : ReduceOp::Sum);
      } catch (const CommError& error) {
        texts[static_cast<size_t>(world.rank())] = error.what();
      }
    };
    run_on_hosts({{0, 0, 2, 2}}, body);
    for (const std::string& text : texts) {
      INFO(text);
      CHECK(text.find(count ? "but rank 3 differs in count" : "but rank 3 differs in reduce op") != std::string::npos);
    }
  }
}
