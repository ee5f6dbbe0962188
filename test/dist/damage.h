// A small checkpoint, what is said when it is refused, and the ways to spoil it.
#pragma once

#include <string>

#include "dist/checkpoint/sha256.h"
#include "dist/sharded_checkpoint.h"
#include "test/dist/temporary_directory.h"
#include "test/dist/toy_module.h"
#include "test/support/catch.h"
#include "test/support/run_ranks.h"

namespace ringlet::test {

// A tiny state: one matrix and one bias with their moments, on this many ranks.
struct Small {
  explicit Small(Communicator& comm, const std::string& strategy = "zero1", double value = 0.5) {
    module.parameter("w", Tensor::full({2, 3}, value));
    module.parameter("b", Tensor::full({3}, -0.5));
    parallel = make_strategy(strategy, module, nullptr, comm, {});
  }
  ToyModule module;
  std::unique_ptr<Strategy> parallel;
};

inline void save_small(const std::string& dir, int ranks, int64_t step = 4, double value = 0.5) {
  run_ranks(ranks, [&](Communicator& comm) {
    Small small(comm, "zero1", value);
    save_checkpoint(dir, step, small.parallel->state(), {}, comm);
  });
}

// What rank 0 hears when `ranks` ranks load; all must hear the same, and keep their state.
inline std::string refusal(const std::string& path, int ranks = 2) {
  auto texts = per_rank<std::string>(ranks);
  run_ranks(ranks, [&](Communicator& comm) {
    std::string& text = texts[static_cast<size_t>(comm.rank())];
    Small small(comm);
    const uint64_t before = small.parallel->parameter_hash();
    try {
      load_checkpoint(path, small.parallel->state(), comm);
    } catch (const CheckpointError& error) {
      text = error.what();
    }
    small.parallel->adopt_state(0);
    text = small.parallel->parameter_hash() == before ? text : "the state was touched";
  });
  for (const std::string& text : texts) {
    CHECK(text == texts[0]);
  }
  return texts[0];
}

inline void replace_text(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

// Changes a manifest as somebody would who also knows how to seal it.
inline void forge(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path);
  replace_text(text, from, to);
  const std::string seal = ",\n \"manifest_sha256\": \"";
  const std::string body = text.substr(0, text.rfind(seal));
  write_file(path, body + seal + sha256(body) + "\"\n}\n");
}

}  // namespace ringlet::test
