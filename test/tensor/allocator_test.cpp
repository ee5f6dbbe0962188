#include "tensor/base/allocator.h"

#include <thread>

#include "tensor/ops.h"
#include "test/support/catch.h"
#include "test/tensor/values.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

constexpr Category kAll[] = {Category::Parameters, Category::Gradients, Category::Optimizer, Category::Activations,
                             Category::Communication};

// An arena that counts what it has given and not got back.
class CountingArena final : public Arena {
 public:
  void* acquire(size_t bytes) override {
    outstanding += static_cast<int64_t>(bytes);
    return system_->acquire(bytes);
  }
  void release(void* block, size_t bytes) noexcept override {
    outstanding -= static_cast<int64_t>(bytes);
    system_->release(block, bytes);
  }
  int64_t outstanding = 0;

 private:
  std::shared_ptr<Arena> system_ = system_arena();
};

}  // namespace

TEST_CASE("bytes are counted as requested, by category; rounding and cached blocks apart", "[tensor]") {
  const auto allocator = std::make_shared<Allocator>();
  const AllocatorScope scope(allocator);
  for (const Category category : kAll) {
    const CategoryBytes before = allocator->ledger().of(category);
    CHECK(before.live == 0);
    {
      const Tensor x = Tensor::zeros({25}, DType::F32, category), y = Tensor::zeros({3, 3}, DType::F64, category);
      const MemoryLedger ledger = allocator->ledger();
      CHECK(ledger.of(category).live == 100 + 72);
      CHECK(ledger.rounding == static_cast<int64_t>(Allocator::rounded(100) + Allocator::rounded(72)) - 172);
      const Tensor view = x.view({5, 5});
      CHECK(allocator->ledger().of(category).live == 172);
    }
    const MemoryLedger after = allocator->ledger();
    CHECK(after.of(category).live == 0);
    CHECK(after.of(category).peak == 172);
    CHECK(after.rounding == 0);
    CHECK(after.cached == static_cast<int64_t>(Allocator::rounded(100) + Allocator::rounded(72)));
  }
}

TEST_CASE("a peak is the most that was live at once, and can start anew", "[tensor]") {
  const auto allocator = std::make_shared<Allocator>();
  const AllocatorScope scope(allocator);
  const Tensor kept = Tensor::zeros({10});
  for (int i = 0; i < 3; ++i) static_cast<void>(Tensor::zeros({100}));
  static_cast<void>(Tensor::zeros({1}));
  CHECK(allocator->ledger().of(Category::Activations).peak == 440);
  allocator->reset_peaks();
  CHECK(allocator->ledger().of(Category::Activations).peak == 40);
}

TEST_CASE("a size class is a multiple of 64 and wastes at most a quarter above 256", "[tensor]") {
  for (size_t bytes = 1; bytes < 100000; bytes += 7) {
    const size_t size = Allocator::rounded(bytes);
    REQUIRE(size >= bytes);
    REQUIRE(size % 64 == 0);
    REQUIRE((bytes <= 256 || size <= bytes + bytes / 4));
    REQUIRE(Allocator::rounded(size) == size);
  }
}

TEST_CASE("blocks are aligned to 64 bytes and do not overlap", "[tensor]") {
  Allocator allocator;
  std::vector<std::pair<std::byte*, size_t>> blocks;
  for (const size_t bytes : {1, 63, 64, 65, 1000, 5000, 300000, 1 << 20}) {
    for (int i = 0; i < 20; ++i) {
      auto* block = static_cast<std::byte*>(allocator.allocate(bytes, Category::Activations));
      REQUIRE(reinterpret_cast<uintptr_t>(block) % 64 == 0);
      for (const auto& [other, size] : blocks) REQUIRE((block + bytes <= other || other + size <= block));
      blocks.emplace_back(block, bytes);
    }
  }
  for (const auto& [block, bytes] : blocks) allocator.deallocate(block, bytes, Category::Activations);
  CHECK(allocator.allocate(0, Category::Activations) == nullptr);
  allocator.deallocate(nullptr, 0, Category::Activations);
  CHECK_THROWS_AS(allocator.allocate(size_t{1} << 60, Category::Activations), Error);
}

TEST_CASE("after a warm-up the same work asks the arena for nothing", "[tensor]") {
  const auto allocator = std::make_shared<Allocator>();
  const AllocatorScope scope(allocator);
  const Tensor qkv = normal({4, 16, 96}, "qkv"), gamma = Tensor::full({32}, 1), weight = normal({32, 512}, "w");
  const auto step = [&] {
    const Attended a = attention(qkv, 4, {}, {});
    const Tensor y = layer_norm(a.y, gamma, gamma, 1e-5).y;
    const Tensor wide = gelu(matmul(y.view({64, 32}), weight), GeluForm::Erf);
    static_cast<void>(softmax(wide + wide * 2.0));
    static_cast<void>(Tensor::zeros({300000}));
    static_cast<void>(attention_backward(y, qkv, a, 4, {}, {}));
  };
  step();
  const MemoryLedger warm = allocator->ledger();
  for (int i = 0; i < 10; ++i) step();
  CHECK(allocator->ledger().arena_requests == warm.arena_requests);
  CHECK(allocator->ledger().cached == warm.cached);
}

TEST_CASE("an allocator gives everything back to its arena", "[tensor]") {
  const auto arena = std::make_shared<CountingArena>();
  {
    const auto allocator = std::make_shared<Allocator>(arena);
    const AllocatorScope scope(allocator);
    const Tensor small = Tensor::zeros({10});
    static_cast<void>(Tensor::zeros({1 << 20}));
    const int64_t held = arena->outstanding;
    CHECK(allocator->ledger().arena_bytes == held);
    allocator->trim();
    CHECK(arena->outstanding == held - (4 << 20));
    CHECK(allocator->ledger().arena_bytes == arena->outstanding);
    CHECK(allocator->ledger().cached == 0);
    CHECK(small.at(9) == 0);
  }
  CHECK(arena->outstanding == 0);
}

TEST_CASE("a tensor goes back to the allocator that it came from, also from another thread or after the scope", "[tensor]") {
  const auto outer = std::make_shared<Allocator>(), inner = std::make_shared<Allocator>();
  Tensor kept;
  {
    const AllocatorScope first(outer);
    {
      const AllocatorScope second(inner);
      kept = Tensor::zeros({10});
      CHECK(Allocator::current() == inner);
    }
    CHECK(Allocator::current() == outer);
    static_cast<void>(Tensor::zeros({5}));
  }
  CHECK(inner->ledger().of(Category::Activations).live == 40);
  CHECK(outer->ledger().of(Category::Activations).peak == 20);
  std::thread([moved = std::move(kept)]() mutable { moved = Tensor(); }).join();
  CHECK(inner->ledger().of(Category::Activations).live == 0);
  std::shared_ptr<Allocator> of_thread;
  std::thread([&] { of_thread = Allocator::current(); }).join();
  CHECK(of_thread != Allocator::current());  // ranks as threads have ledgers of their own
}

TEST_CASE("many threads may share one allocator", "[tensor]") {
  const auto allocator = std::make_shared<Allocator>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator] {
      const AllocatorScope scope(allocator);
      for (int i = 1; i < 300; ++i) static_cast<void>(Tensor::zeros({i}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(allocator->ledger().of(Category::Activations).live == 0);
  CHECK(allocator->ledger().rounding == 0);
}
