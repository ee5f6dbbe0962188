// One table, one hash: every strategy, at every number of ranks, by every canonical algorithm and transport, however it communicates.
#include <sstream>

#include "dist/parameter_hash.h"
#include "test/dist/train_gpt.h"
#include "test/support/catch.h"
#include "test/support/run_asynchronous.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

#if defined(RINGLET_FULL)
constexpr int64_t kSteps = 200;
#else
constexpr int64_t kSteps = 3;
#endif

struct World {
  std::string name;
  Run run;
};

// Ranks as threads that exchange messages, by this algorithm wherever an operation has it.
World by(Algorithm algorithm) {
  return {to_text(algorithm), [algorithm](int size, const std::function<void(Communicator&)>& body) {
            const auto hub = std::make_shared<MailboxHub>(size, std::chrono::seconds(20));
            run_ranks(size, [&](Communicator& outer) {
              body(*make_p2p(hub->join(outer.rank()), "threads", Algorithms{.wherever = algorithm}));
            });
          }};
}

const std::vector<World>& worlds() {
  static const std::vector<World> kWorlds{
      by(Algorithm::Direct),
      by(Algorithm::RecursiveDoubling),
      by(Algorithm::HalvingDoubling),
      by(Algorithm::BinomialTree),
      {"shared memory", [](int size, const std::function<void(Communicator&)>& body) { run_shared(size, body); }},
      {"its own thread", [](int size, const std::function<void(Communicator&)>& body) { run_asynchronous(size, body); }},
  };
  return kWorlds;
}

}  // namespace

TEST_CASE("the same bits in every cell of the table: strategy, ranks, algorithm and transport, overlap, rhythm",
          "[same_bits]") {
  TrainOptions options{.strategy = "ddp", .micro_batches = 8, .steps = kSteps, .max_norm = 0.2, .layers = 2};
  const TrainLog one = train_gpt(options).front();
  REQUIRE(one.results.front().coefficient < 1.0);  // clipping takes part
  options.parallel.buckets = {100, 4000};
  std::ostringstream table;
  int cells = 0;
  for (const std::string& strategy : kStrategies) {
    for (const int ranks : {1, 2, 4, 8}) {
      for (const World& world : worlds()) {
        table << '\n' << strategy << " on " << ranks << ", " << world.name << ':';
        for (const bool overlap : {true, false}) {
          for (const bool every : {false, true}) {
            options.strategy = strategy;
            options.ranks = ranks;
            options.parallel.overlap = overlap;
            options.parallel.reduce_every_micro_batch = every;
            const TrainLog log = train_gpt(options, world.run).front();
            INFO(table.str() << (overlap ? " overlap" : " no overlap") << (every ? ", every micro-batch" : ", once per step"));
            CHECK(log.replicas_equal);
            CHECK(log.hashes == one.hashes);
            CHECK(same_bits(log.results.back().grad_norm, one.results.back().grad_norm));
            cells += log.hashes == one.hashes ? 1 : 0;
            table << ' ' << hash_to_hex(log.hashes.back());
          }
        }
      }
    }
  }
  CHECK(cells == 5 * 4 * 6 * 4);
#if defined(RINGLET_FULL)
  WARN(cells << " cells of " << kSteps << " steps, one hash" << table.str());
#endif
}
