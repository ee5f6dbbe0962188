// The ways in which ranks fail to make the same call, as one table that runs on any transport: one rank does `odd`, the others
// do `usual`, and every rank that calls must hear of it before its call returns.
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.h"
#include "test/support/report.h"

namespace ringlet::test {

struct Disagreement {
  const char* name;
  void (*usual)(Communicator& world);
  void (*odd)(Communicator& world);
  const char* field;       // what the report says they differ in
  bool all_report = true;  // false where some only leave
};

inline void sum_of_four(Communicator& world) {
  std::vector<float> data(4);
  world.all_reduce(data, ReduceOp::Sum);
}
inline void from_root(Communicator& world, int root) {
  std::vector<float> data(4);
  world.broadcast(data, root);
}
inline void to_root(Communicator& world, int root) {
  std::vector<float> data(4), sum(4);
  world.reduce(data, sum, ReduceOp::Sum, root);
}
inline void large_sum(Communicator& world, ReduceOp op) {
  std::vector<float> data(100000);
  world.all_reduce(data, op);
}
inline void scaled_sum(Communicator& world, float factor) {
  std::vector<float> data(4);
  world.all_reduce(data, pre_mul_sum(factor));
}
// Rank 0's part holds `first` elements, rank 1's the rest of eight, the others' none.
inline void in_parts(Communicator& world, int64_t first) {
  std::vector<int64_t> counts(static_cast<size_t>(world.size()));
  counts[0] = first;
  counts[1] = 8 - first;
  std::vector<float> mine(static_cast<size_t>(counts[static_cast<size_t>(world.rank())])), all(8);
  world.all_gather_v(mine, all, counts);
}
inline void exchanged(Communicator& world) {
  std::vector<float> in(static_cast<size_t>(world.size())), out(in.size());
  world.all_to_all(in, out);
}
inline void nothing(Communicator&) {}

inline const std::vector<Disagreement>& disagreements() {
  using C = Communicator;
  static const std::vector<Disagreement> table{
      {"operation", sum_of_four, [](C& w) { w.barrier(); }, "operation"},
      {"count", sum_of_four,
       [](C& w) {
         std::vector<float> data(5);
         w.all_reduce(data, ReduceOp::Sum);
       },
       "count"},
      {"dtype of the same size", sum_of_four,
       [](C& w) {
         std::vector<int32_t> data(4);
         w.all_reduce(data, ReduceOp::Sum);
       },
       "dtype"},
      {"reduce op", sum_of_four,
       [](C& w) {
         std::vector<float> data(4);
         w.all_reduce(data, ReduceOp::Max);
       },
       "reduce op"},
      {"factor", [](C& w) { scaled_sum(w, 2); }, [](C& w) { scaled_sum(w, 3); }, "factor"},
      {"counts of the parts", [](C& w) { in_parts(w, 3); }, [](C& w) { in_parts(w, 8); }, "counts of the parts"},
      {"all_to_all and scatter", exchanged,
       [](C& w) {
         std::vector<float> in(static_cast<size_t>(w.size())), out(1);
         w.scatter(in, out, 0);
       },
       "operation"},
      {"reduce op of long messages", [](C& w) { large_sum(w, ReduceOp::Sum); }, [](C& w) { large_sum(w, ReduceOp::Max); },
       "reduce op"},
      {"count of long messages", [](C& w) { large_sum(w, ReduceOp::Sum); }, sum_of_four, "count"},
      {"root of a broadcast", [](C& w) { from_root(w, 0); }, [](C& w) { from_root(w, 1); }, "root"},
      {"root of a reduce", [](C& w) { to_root(w, 1); }, [](C& w) { to_root(w, 0); }, "root"},
      {"swapped order", [](C& w) { sum_of_four(w), from_root(w, 0); }, [](C& w) { from_root(w, 0), sum_of_four(w); },
       "operation"},
      {"a missing call", [](C& w) { sum_of_four(w), w.barrier(); }, [](C& w) { w.barrier(); }, "operation"},
      {"an extra call", [](C& w) { w.barrier(); }, [](C& w) { sum_of_four(w), w.barrier(); }, "operation"},
      {"one step ahead", [](C& w) { sum_of_four(w), from_root(w, 0), sum_of_four(w), from_root(w, 0); },
       [](C& w) { sum_of_four(w), from_root(w, 0), from_root(w, 0), sum_of_four(w); }, "operation"},
      {"a split that not all know of", sum_of_four, [](C& w) { w.split(0, 0); }, "operation"},
      {"one rank leaves early", [](C& w) { sum_of_four(w), sum_of_four(w); }, sum_of_four, "operation", false},
      {"all but one leave", sum_of_four, [](C& w) { sum_of_four(w), sum_of_four(w); }, "operation", false},
  };
  return table;
}

/// What this rank was told, "" if nothing. Two calls in which all agree come first.
inline std::string told_by(Communicator& world, const Disagreement& kind, int odd_rank) {
  try {
    sum_of_four(world);
    world.barrier();
    (world.rank() == odd_rank ? kind.odd : kind.usual)(world);
    return "";
  } catch (const CommError& error) {
    return error.what();
  }
}

/// Judges what rank `rank` was told.
inline void expect_report(Report& report, const std::string& text, const Disagreement& kind, int rank, int ranks,
                          int odd_rank) {
  if (text.empty()) {
    const bool leaves = !kind.all_report && (rank == odd_rank) == (kind.odd == sum_of_four);
    report.expect(leaves, "rank {} of {} was told nothing", rank, ranks);
    return;
  }
  const std::string odd = message("but rank {} differs in {}: got ", odd_rank, kind.field);
  const std::string tie = message("but they differ in {}: got ", kind.field);
  const bool found = text.find(odd) != std::string::npos || (ranks == 2 && text.find(tie) != std::string::npos) ||
                     (ranks == 2 && !kind.all_report && text.find("leaves after #3") != std::string::npos);
  report.expect(found, "rank {} of {}: '{}' lacks '{}'", rank, ranks, text, odd);
  report.expect(text.find(message(" on rank {} of {} (world)", rank, ranks)) != std::string::npos, "'{}' lacks its rank", text);
  report.expect(text.find("rank  call (call site): state\n") != std::string::npos, "'{}' lacks the table", text);
  report.expect(text.find(" (disagreement.h:") != std::string::npos, "'{}' lacks the call site", text);
}

}  // namespace ringlet::test
