// How graphs live and die: long chains without recursion, and no step leaves anything behind.
#include <vector>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "test/autograd/values.h"
#include "test/support/catch.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr int kLong = 300000;  // one call per node of either walk would take some 30 MB of stack

struct Failing {
  static constexpr std::string_view kName = "failing";
  Saved kept;
  Grads backward(const Tensor&) const { throw Error("failing: on purpose"); }
};

Var failing(const Var& x) { return record(x.data().clone(), {x}, Failing{.kept = x.data()}); }

// Two layers, and every kind of op that a step uses.
struct Tiny {
  Var table = leaf(normal({5, 4}, "table", DType::F32)), w = leaf(normal({4, 4}, "w", DType::F32));
  Var b = leaf(normal({4}, "b", DType::F32)), gain = leaf(normal({4}, "gain", DType::F32));
  Tensor ids = Tensor::from<int32_t>({0, 3, 3}, {3}), labels = Tensor::from<int32_t>({1, 4, kIgnoreIndex}, {3});

  Var loss(bool fails = false) const {
    Var h = embedding(table, ids);
    h = h + gelu(linear(layer_norm(h, gain, {}, 1e-5), w, b), GeluForm::Tanh);
    h = dropout(softmax(matmul(h, transpose(h, 0, 1))), 0.5, RandomStream(1, "p")) + sum(h, 1);
    h = linear_transposed(matmul(h, narrow(w, 0, 0, 3)), table);
    return cross_entropy(fails ? failing(h) : h, labels).sum;
  }
};

}  // namespace

TEST_CASE("A chain of 300,000 nodes is walked and freed without recursion") {
  const int64_t before = Node::live();
  SECTION("backward, then death") {
    const Var x = leaf(1.0);
    Var y = x;
    for (int i = 0; i < kLong; ++i) {
      y = y + 1.0;
    }
    backward(y);
    CHECK(x.grad().item() == 1.0);
    CHECK(y.item() == kLong + 1.0);
  }
  SECTION("a chain of sums into which one leaf comes again and again") {
    const Var x = leaf(1.0);
    Var y = x;
    for (int i = 1; i < kLong; ++i) {
      y = y + x;
    }
    backward(y);
    CHECK(x.grad().item() == kLong);
  }
  SECTION("a ladder: both ends of every rung are shared") {
    Var a = leaf(1.0), b = leaf(0.0);
    const Var first = a;
    for (int i = 0; i < kLong / 2; ++i) {
      const Var sum_of_both = a + b;
      b = a - b;
      a = sum_of_both * 0.5;
    }
    backward(a + b);
    CHECK(first.grad().defined());
  }
  SECTION("never walked") {
    Var y = leaf(1.0);
    for (int i = 0; i < kLong; ++i) {
      y = -y;
    }
    CHECK(Node::live() - before == kLong + 1);
  }
  SECTION("a chain that dies from an exception in the middle of its walk") {
    Var y = leaf(1.0);
    for (int i = 0; i < kLong; ++i) {
      y = i == kLong / 2 ? failing(y) : y + 1.0;
    }
    CHECK_THROWS_AS(backward(y), Error);
  }
  SECTION("one op of very many inputs") {
    std::vector<Var> parts;
    for (int i = 0; i < kLong / 10; ++i) {
      parts.push_back(leaf(Tensor::full({1}, i, DType::F64)) * 2.0);
    }
    backward(sum(concat(parts, 0)));
  }
  CHECK(Node::live() == before);
}

TEST_CASE("Ten thousand steps leave nothing behind [D9]") {
  enum class Way { Backward, ForwardOnly, Exception, KeptGraph };
  const auto way = GENERATE(Way::Backward, Way::ForwardOnly, Way::Exception, Way::KeptGraph);
  const int steps = way == Way::Backward ? 10000 : 2000;
  const int64_t nodes = Node::live();
  const auto allocator = std::make_shared<Allocator>();
  {
    const AllocatorScope scope(allocator);
    const Tiny tiny;
    MemoryLedger warm;
    for (int step = 0; step < steps; ++step) {
      {
        const Var loss = tiny.loss(way == Way::Exception);
        if (way == Way::Exception) {
          REQUIRE_THROWS_AS(backward(loss), Error);
        } else if (way != Way::ForwardOnly) {
          backward(loss, {}, way == Way::KeptGraph);
        }
      }
      if (step == 1) {
        warm = allocator->ledger();
      }
    }
    const MemoryLedger now = allocator->ledger();
    for (int c = 0; c < kCategories; ++c) {
      CHECK(now.categories[static_cast<size_t>(c)].live == warm.categories[static_cast<size_t>(c)].live);
      CHECK(now.categories[static_cast<size_t>(c)].peak == warm.categories[static_cast<size_t>(c)].peak);
    }
    CHECK(now.arena_requests == warm.arena_requests);
    CHECK(Node::live() - nodes == 4);  // the leaves
  }
  CHECK(Node::live() == nodes);
  for (const CategoryBytes& category : allocator->ledger().categories) {
    CHECK(category.live == 0);
  }
}

TEST_CASE("Backward frees what was saved as it goes") {
  const auto allocator = std::make_shared<Allocator>();
  const AllocatorScope scope(allocator);
  const auto live = [&] { return allocator->ledger().of(Category::Activations).live; };
  const Var x = leaf(normal({1000}, "x"));
  const int64_t before = live();
  Var y = exp(x);
  for (int i = 0; i < 9; ++i) {
    y = exp(y * 0.01);
  }
  const Var loss = sum(y);
  y = Var();
  CHECK(live() - before == (10 * 1000 + 1) * 8);  // the ten results of exp, and the loss
  allocator->reset_peaks();
  backward(loss);
  CHECK(live() - before == 8);
  // Gradients too: at no time more than what comes in, what a rule needs meanwhile, and what goes out.
  CHECK(allocator->ledger().of(Category::Activations).peak - before <= (10 * 1000 + 1) * 8 + 4 * 1000 * 8);
}

TEST_CASE("The death of a graph leaves the part of it that others still hold intact") {
  const Var x = leaf(3.0);
  const Var h = x * x;
  { const Var y = exp(h * 2.0) + h; }
  backward(h);
  CHECK(x.grad().item() == 6.0);
}
