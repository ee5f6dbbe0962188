#include "apps/ddp_demo/sharded_parameter.h"

#include <vector>

#include "nn/init.h"
#include "nn/linear.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;

namespace {

RoundTrip round_trip(int64_t in, int64_t out, int P, int changed_rank = -1) {
  std::vector<RoundTrip> trips(static_cast<size_t>(P));
  test::run_ranks(P, [&](Communicator& world) {
    Linear model(in, out, true);
    for (NamedParameter& parameter : model.parameters()) {
      Tensor data = parameter.var.data();
      init_normal(data, world.rank() == changed_rank ? 2 : 1, parameter.name, 1.0);
    }
    trips[static_cast<size_t>(world.rank())] = fsdp_round_trip(model, world);
  });
  RoundTrip all = trips[0];
  for (const RoundTrip& trip : trips) {
    CHECK(trip.bytes_sharded == all.bytes_sharded);
    all.equal = all.equal && trip.equal;
    all.counted = all.counted && trip.counted;
  }
  return all;
}

}  // namespace

TEST_CASE("a parameter taken apart and put together again has its bits; the bytes fall to 1/P of the padded whole",
          "[ddp_demo]") {
  struct Row {
    int64_t in, out;
  };
  for (const Row row : {Row{32, 16}, {16, 4}, {7, 3}, {1, 1}}) {  // [1]: most ranks hold nothing but padding
    for (const int P : {1, 2, 3, 4, 5, 8}) {
      CAPTURE(row.in, row.out, P);
      const RoundTrip trip = round_trip(row.in, row.out, P);
      const int64_t weight = row.in * row.out, bias = row.out;
      CHECK(trip.equal);
      CHECK(trip.counted);
      CHECK(trip.bytes_before == 4 * (weight + bias));
      CHECK(trip.bytes_sharded == 4 * ((weight + P - 1) / P + (bias + P - 1) / P));
    }
  }
}

TEST_CASE("the round trip notices ranks that held different parameters", "[ddp_demo]") {
  CHECK_FALSE(round_trip(7, 3, 3, 1).equal);
}

TEST_CASE("the round trip notices parameters that are held besides", "[ddp_demo]") {
  test::run_ranks(2, [&](Communicator& world) {
    Linear model(4, 4, true);
    const Tensor besides = Tensor::zeros({8}, DType::F32, Category::Parameters);
    check(!fsdp_round_trip(model, world).counted, "counted parameters that are not the model's");
  });
}

TEST_CASE("a sharded parameter keeps its shape and can be used again once unsharded", "[ddp_demo]") {
  std::vector<double> sums(3);
  test::run_ranks(3, [&](Communicator& world) {
    Linear model(2, 2, true);
    Tensor data = model.weight().data();
    data.fill(1.5);
    ShardedParameter sharded(model.weight(), world);
    check_shape("sharded", model.weight().data(), {2, 2});
    check(model.weight().data().at(3) == 0.0, "the memory of a sharded parameter is gone");
    sharded.unshard();
    sums[static_cast<size_t>(world.rank())] = model.forward(Var(Tensor::full({1, 2}, 1.0))).data().at(1);
  });
  CHECK(sums == std::vector<double>(3, 3.0));
}
