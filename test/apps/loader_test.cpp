#include "apps/training/loader.h"

#include <algorithm>
#include <map>
#include <set>

#include "test/apps/scratch_file.h"
#include "test/support/catch.h"

using namespace ringlet;

TEST_CASE("micro-batches are dealt in contiguous ranges whose sizes differ by at most one", "[loader]") {
  for (int64_t M = 0; M <= 9; ++M) {
    for (int P = 1; P <= 8; ++P) {
      int64_t next = 0;
      for (int r = 0; r < P; ++r) {
        const IndexRange range = dealt_to(M, P, r);
        CHECK(range.begin == next);
        CHECK((range.size() == M / P || range.size() == (M + P - 1) / P));
        next = range.end;
      }
      CHECK(next == M);
    }
  }
}

TEST_CASE("the last micro-batch may be smaller, and no sequence is lost", "[loader]") {
  const MicroBatches plan = {.sequences = 10, .batch_size = 4};
  REQUIRE(plan.count() == 3);
  CHECK(plan.of(0) == IndexRange{0, 4});
  CHECK(plan.of(2) == IndexRange{8, 10});
}

TEST_CASE("the synthetic task is one cycle through the whole vocabulary", "[loader]") {
  for (const uint64_t seed : {1, 2, 41}) {
    const CyclicDataset dataset(64, seed);
    std::vector<int32_t> block(65);
    dataset.read(0, 0, 1, block);
    CHECK(block.front() == block.back());  // back after 64 steps
    CHECK(std::set<int32_t>(block.begin(), block.end()).size() == 64);
  }
  CHECK(CyclicDataset(64, 1).fingerprint() != CyclicDataset(64, 2).fingerprint());
}

TEST_CASE("every step of the synthetic task poses every transition equally often", "[loader]") {
  const CyclicDataset dataset(64, 41);
  for (const int64_t sequences : {4, 8, 12, 16, 20, 32}) {
    for (const int64_t step : {0, 1, 7}) {
      std::map<int32_t, int> seen;
      std::vector<int32_t> block(17);
      for (int64_t sequence = 0; sequence < sequences; ++sequence) {
        dataset.read(step, sequence, sequences, block);
        std::for_each(block.begin(), block.end() - 1, [&](int32_t token) { ++seen[token]; });
      }
      const auto [least, most] =
          std::minmax_element(seen.begin(), seen.end(), [](auto& a, auto& b) { return a.second < b.second; });
      CHECK(seen.size() == 64);
      CHECK(most->second - least->second <= (sequences * 16 % 64 == 0 && 64 % sequences == 0 ? 0 : 2));
    }
  }
}

TEST_CASE("targets are the tokens one place on", "[loader]") {
  const CyclicDataset dataset(64, 41);
  const Loader loader(dataset, {.sequences = 5, .batch_size = 2}, 16, 0, 1);
  const Batch batch = loader.load(3, 2);
  CHECK(batch.tokens.shape() == Shape{1, 16});
  for (int64_t t = 0; t + 1 < 16; ++t) {
    CHECK(batch.targets.at(t) == batch.tokens.at(t + 1));
  }
}

TEST_CASE("[N3] the ranks of a step read different tokens; together they read what one rank would", "[loader]") {
  const test::ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += static_cast<char>('a' + i * i % 23);
  }
  const Corpus corpus({.path = folder.write("text", text)});
  const TextDataset words(corpus, 41);
  const CyclicDataset cycle(64, 41);
  const std::vector<const Dataset*> datasets = {&words, &cycle};
  for (const Dataset* dataset : datasets) {
    const MicroBatches plan = {.sequences = 16, .batch_size = 4};
    std::set<uint64_t> hashes;
    for (int64_t step = 0; step < 10; ++step) {
      for (int rank = 0; rank < 4; ++rank) {
        const Loader loader(*dataset, plan, 16, rank, 4);
        hashes.insert(loader.block_hash(step));
        const Batch mine = loader.load(step, loader.mine().begin);
        const Batch same = Loader(*dataset, plan, 16, 0, 1).load(step, rank);
        CHECK(mine.tokens.to_vector() == same.tokens.to_vector());
        CHECK(mine.targets.to_vector() == same.targets.to_vector());
      }
    }
    CHECK(hashes.size() == 40);
  }
}

TEST_CASE("[L3] what a step reads is a function of the step: asked twice, after a resume, it is the same", "[loader]") {
  const CyclicDataset dataset(64, 41);
  const Loader first(dataset, {.sequences = 16, .batch_size = 4}, 16, 2, 4);
  const CyclicDataset dataset_anew(64, 41);
  const Loader resumed(dataset_anew, {.sequences = 16, .batch_size = 4}, 16, 2, 4);
  for (int64_t step = 10; step < 20; ++step) {
    CHECK(first.block_hash(step) == resumed.block_hash(step));
    CHECK(first.block_hash(step) != first.block_hash(step - 10));
  }
}

TEST_CASE("a rank without a micro-batch has nothing to load", "[loader]") {
  const CyclicDataset dataset(64, 41);
  const Loader loader(dataset, {.sequences = 8, .batch_size = 4}, 16, 3, 4);
  CHECK(loader.mine().empty());
  CHECK(loader.largest_batch() == 0);
}
