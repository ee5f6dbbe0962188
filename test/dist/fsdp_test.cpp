// What layers may do, and what becomes of those that do otherwise.
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/shape.h"
#include "nn/linear.h"
#include "test/dist/toy_module.h"
#include "test/support/catch.h"
#include "test/support/report.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

// x·Σw, where w may be another layer's too.
class Scale : public Module {
 public:
  void share(const Var& w) { w_ = add_parameter("w", w); }
  Var forward(const Var& x_in) {
    return hooked(x_in, [&](const Var& x) { return x * sum(w_); });
  }

 private:
  Var w_;
};

// Three linear layers of odd sizes, one of them smaller than the world, and whatever a test makes of them.
class ThreeLayers : public Module {
 public:
  using Forward = std::function<Var(ThreeLayers&, const Var&)>;

  explicit ThreeLayers(const Forward& forward) : a(3, 5, true), b(5, 1, true), c(1, 2, false), forward_(forward) {
    add_module("a", a);
    add_module("b", b);
    add_module("c", c);
    add_module("d", d);
    for (const auto& [name, var] : parameters()) {
      Tensor values = var.data();
      for (int64_t i = 0; i < values.numel(); ++i) {
        values.mutable_data<float>()[i] = 0.1F * static_cast<float>(i % 7 + 1);
      }
    }
  }
  std::vector<std::vector<Module*>> layers() override { return {{&a}, {&b}, {&c}, {&d}}; }
  TokenLoss loss(const Tensor& x, const Tensor&) {
    const Var y = forward_(*this, Var(x));
    return {sum(y * y), x.dim(0)};
  }
  using Module::add_parameter;

  Linear a, b, c;
  Scale d;

 private:
  Forward forward_;
};

Var in_order(ThreeLayers& m, const Var& x) { return m.c.forward(m.b.forward(m.a.forward(x))); }

Tensor input(int rank) {
  const auto r = static_cast<float>(rank);
  return Tensor::from<float>({1, 2 + r, -1, r, 0.5, 1}, {2, 3});
}

// The parameters after three steps of AdamW.
std::vector<double> trained(const std::string& strategy, Communicator& comm, const ThreeLayers::Forward& forward,
                            const std::function<void(ThreeLayers&)>& prepare = {}) {
  ThreeLayers model(forward);
  if (prepare != nullptr) {
    prepare(model);
  }
  const auto parallel = make_strategy(strategy, model, comm, {.weight_decay = 0.1});
  for (int step = 0; step < 3; ++step) {
    LossSum loss;
    for (int micro = 0; micro < 3; ++micro) {
      const auto local = parallel->no_sync(micro < 2);
      loss += parallel->forward_backward(input((comm.rank() + micro) % 4), {});
    }
    static_cast<void>(parallel->finish(loss, 1.0));
    parallel->step(0.1);
  }
  std::vector<double> values;
  const auto whole = parallel->summon();
  for (const auto& [name, var] : model.parameters()) {
    for (const double value : var.data().to_vector()) {
      values.push_back(value);
    }
  }
  return values;
}

}  // namespace

TEST_CASE(
    "layers smaller than the world, unused, frozen, tied or shared: the parameters that DDP ends with [F1] [F4] [F6] [G1]",
    "[fsdp]") {
  struct Row {
    const char* what;
    ThreeLayers::Forward forward;
    std::function<void(ThreeLayers&)> prepare;
  };
  const auto branch_on_even_ranks = [](ThreeLayers& m, const Var& x) {
    const Var y = m.a.forward(x);
    const bool even = x.data().at(3) == 0.0 || x.data().at(3) == 2.0;  // the rank
    return even ? m.c.forward(m.b.forward(y)) : sum(y) * sum(y);
  };
  const std::vector<Row> rows{
      {"in order", in_order, {}},
      {"one unused everywhere", [](ThreeLayers& m, const Var& x) { return m.b.forward(m.a.forward(x)); }, {}},
      {"the first unused", [](ThreeLayers& m, const Var& x) { return m.c.forward(narrow(x, 1, 0, 1)); }, {}},
      {"two unused on odd ranks", branch_on_even_ranks, {}},
      {"one frozen", in_order, [](ThreeLayers& m) { Var(m.b.weight()).set_requires_grad(false); }},
      {"a whole layer frozen", in_order,
       [](ThreeLayers& m) {
         Var(m.b.weight()).set_requires_grad(false);
         Var(m.b.bias()).set_requires_grad(false);
       }},
      {"shared by two layers", [](ThreeLayers& m, const Var& x) { return m.d.forward(in_order(m, x)); },
       [](ThreeLayers& m) { m.d.share(m.b.weight()); }},
      {"registered outside of its layer too, and used there",
       [](ThreeLayers& m, const Var& x) { return in_order(m, x) + sum(m.b.weight()); },
       [](ThreeLayers& m) { m.add_parameter("again", m.b.weight()); }},
  };
  for (const Row& row : rows) {
    for (const int ranks : {1, 2, 4}) {
      std::vector<double> expected;
      for (const std::string& strategy : kStrategies) {
        auto values = per_rank<std::vector<double>>(ranks);
        run_ranks(ranks, [&](Communicator& comm) {
          values[static_cast<size_t>(comm.rank())] = trained(strategy, comm, row.forward, row.prepare);
        });
        for (const auto& rank : values) {
          INFO(row.what << ", " << strategy << " on " << ranks << " ranks");
          expected = expected.empty() ? rank : expected;
          CHECK(rank == expected);
        }
      }
    }
  }
}

TEST_CASE("a parameter is read while it is summoned, and otherwise not: an error says why", "[fsdp]") {
  for (const char* strategy : {"fsdp", "hsdp"}) {
    auto reports = per_rank<Report>(2);
    run_ranks(2, [&](Communicator& comm) {
      Report& report = reports[static_cast<size_t>(comm.rank())];
      ThreeLayers model(in_order);
      const auto parallel = make_strategy(strategy, model, comm, sgd());
      const uint64_t hash = parallel->parameter_hash();
      report.expect_error<Error>("its storage is released", [&] { static_cast<void>(model.a.weight().data().at(0)); });
      {
        const auto whole = parallel->summon();
        report.expect(model.a.weight().data().at(1) == static_cast<double>(0.2F), "a is {}", model.a.weight().data().at(1));
        report.expect(parallel->parameter_hash() == hash, "the hash has changed");
        report.expect(in_order(model, Var(input(0))).shape() == Shape{2, 2}, "forward of one's own");
        static_cast<void>(parallel->evaluate(input(0), {}));  // leaves what is summoned
        report.expect(model.c.weight().data().numel() == 2, "c is gone");
      }
      report.expect_error<Error>("its storage is released", [&] { static_cast<void>(model.c.weight().data().at(0)); });
      const auto local = parallel->no_sync(true);
      static_cast<void>(parallel->forward_backward(input(0), {}));
      report.expect_error<Error>("summon: parameters may be summoned between steps",
                                 [&] { const auto s = parallel->summon(); });
      parallel->skip();
      const auto again = parallel->summon();
    });
    for (const Report& report : reports) {
      CHECK(report.failures() == std::vector<std::string>{});
    }
  }
}

TEST_CASE("layers that run out of order, twice, or outside of themselves are errors", "[fsdp]") {
  struct Row {
    ThreeLayers::Forward forward;
    const char* part;
  };
  const std::vector<Row> rows{
      {[](ThreeLayers& m, const Var& x) { return m.b.forward(m.a.forward(x)) + sum(m.a.forward(x)); },
       "fsdp: layers must run in their order, each once per forward; got layer 0"},
      {[](ThreeLayers& m, const Var& x) {
         const Var y = m.b.forward(m.a.forward(x));
         return m.c.forward(y) + m.c.forward(y);
       },
       "fsdp: layers must run in their order, each once per forward; got layer 2"},
      {[](ThreeLayers& m, const Var& x) { return in_order(m, x) + sum(m.a.weight()); }, "its storage is released"},
  };
  for (const Row& row : rows) {
    run_ranks(1, [&](Communicator& comm) {
      Report report;
      ThreeLayers model(row.forward);
      const auto parallel = make_strategy("fsdp", model, comm, sgd());
      report.expect_error<Error>(row.part, [&] { static_cast<void>(parallel->forward_backward(input(0), {})); });
      parallel->skip();
      report.expect_error<Error>(row.part, [&] { static_cast<void>(parallel->evaluate(input(0), {})); });
      CHECK(report.failures() == std::vector<std::string>{});
    });
  }
}

TEST_CASE("a graph that outlives an update is refused: its weights are not those that it saved [D5]", "[fsdp]") {
  run_ranks(2, [&](Communicator& comm) {
    Report report;
    ThreeLayers model(in_order);
    const auto parallel = make_strategy("fsdp", model, comm, sgd());
    Var kept;
    {
      const auto whole = parallel->summon();
      kept = model.loss(input(0), {}).sum;
    }
    LossSum loss;
    loss += parallel->forward_backward(input(0), {});
    static_cast<void>(parallel->finish(loss, 0.0));
    parallel->step(0.1);
    const auto whole = parallel->summon();
    report.expect_error<Error>("has been changed in place", [&] { backward(kept); });
    check(report.failures().empty(), "{}", report.failures().empty() ? "" : report.failures()[0]);
  });
}

TEST_CASE("hsdp needs groups that divide the ranks", "[fsdp]") {
  auto reports = per_rank<Report>(4);
  run_ranks(4, [&](Communicator& comm) {
    ThreeLayers model(in_order);
    reports[static_cast<size_t>(comm.rank())].expect_error<Error>(
        "hsdp: the ranks that share one copy must divide all ranks, got 3 of 4", [&] {
          ParallelOptions options;
          options.shard_ranks = 3;
          make_strategy("hsdp", model, comm, sgd(), options);
        });
  });
  for (const Report& report : reports) {
    CHECK(report.failures() == std::vector<std::string>{});
  }
}
