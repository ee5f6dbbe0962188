#include "apps/ddp_demo/minimal_ddp.h"

#include <vector>

#include "autograd/ops.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

using namespace ringlet;

namespace {

// Every rank makes other numbers. `bias` is used by nobody, `scale` is frozen.
class Small : public Module {
 public:
  explicit Small(int rank)
      : weight(add_parameter("weight", Tensor::full({3, 2}, 1.0 + rank))),
        bias(add_parameter("bias", Tensor::full({2}, 10.0 + rank))),
        scale(add_parameter("scale", Tensor::full({}, 100.0 + rank))),
        mean(add_buffer("mean", Tensor::full({3}, 1000.0 + rank))) {
    scale.set_requires_grad(false);
  }
  Var weight, bias, scale;
  Tensor mean;
};

}  // namespace

TEST_CASE("the minimal DDP gives every rank the parameters, frozen ones too, and the buffers of rank 0", "[ddp_demo]") {
  for (const int P : {1, 2, 3, 4, 8}) {
    std::vector<std::vector<double>> held(static_cast<size_t>(P));
    test::run_ranks(P, [&](Communicator& world) {
      Small model(world.rank());
      const MinimalDdp ddp(model, world);
      held[static_cast<size_t>(world.rank())] = {model.weight.data().at(5), model.bias.data().at(1), model.scale.item(),
                                                 model.mean.at(2)};
    });
    for (const auto& of_rank : held) {
      CHECK(of_rank == std::vector<double>{1, 10, 100, 1000});
    }
  }
}

TEST_CASE("averaged gradients are weighted by the samples behind them; none from a rank is zeros, not a hang", "[ddp_demo]") {
  for (const int P : {1, 2, 3, 4, 8}) {
    // Rank r has r samples: rank 0 has none, and never calls backward. Sample i of all has the gradient i.
    const int64_t batch = P * (P - 1) / 2;
    if (batch == 0) {
      continue;
    }
    std::vector<std::vector<double>> found(static_cast<size_t>(P));
    test::run_ranks(P, [&](Communicator& world) {
      const int64_t mine = world.rank(), first = mine * (mine - 1) / 2;
      Small model(world.rank());
      MinimalDdp ddp(model, world);
      if (mine > 0) {  // the mean of first, first + 1, …
        backward(sum(model.weight) * (static_cast<double>(first) + static_cast<double>(mine - 1) / 2));
      }
      ddp.average_gradients(mine, batch);
      found[static_cast<size_t>(world.rank())] = {model.weight.grad().at(0), model.weight.grad().at(5),
                                                  model.bias.grad().at(0)};
    });
    const double mean = static_cast<double>(batch - 1) / 2;
    for (const auto& of_rank : found) {
      // Each of P terms is rounded twice and their sum P times, all below the sum of the gradients, batch · mean.
      CHECK(of_rank[0] == Approx(mean).epsilon(3 * P * 6e-8));
      CHECK(of_rank[1] == of_rank[0]);
      CHECK(of_rank[2] == 0.0);
      CHECK(of_rank == found[0]);
    }
  }
}

TEST_CASE("equal slices need no weight: the sum divided by the world size, exactly", "[ddp_demo]") {
  for (const int P : {1, 2, 3, 4, 8}) {
    std::vector<double> found(static_cast<size_t>(P));
    test::run_ranks(P, [&](Communicator& world) {
      Small model(0);
      MinimalDdp ddp(model, world);
      backward(sum(model.weight) * (world.rank() + 1));
      ddp.average_gradients(5, 5 * P);
      found[static_cast<size_t>(world.rank())] = model.weight.grad().at(3);
    });
    CHECK(found == std::vector<double>(found.size(), (P + 1) / 2.0));
  }
}
