// The ways in which ranks fail to make the same call, as one table that runs on any transport: one rank does `odd`, the others
// do `usual`, and every rank that calls must hear of it before its call returns.
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "collectives/communicator.h"
#include "test/support/report.h"

namespace ringlet::test {

/// Who is told what.
enum class Told {
  Differ,  // every rank: in what the calls differ
  Leaves,  // the same, but some only leave
  Throws,  // the odd rank throws an Error of its own, and the others hear that it has left by an exception
  Late,    // only time can tell: the others hear at the deadline that the odd rank has not come
  Groups,  // only time can tell that they wait in different groups
};

struct Disagreement {
  const char* name;
  void (*usual)(Communicator& world);
  void (*odd)(Communicator& world);
  const char* field = "";  // what the report says they differ in
  Told told = Told::Differ;
  bool needs_time() const { return told == Told::Late || told == Told::Groups; }
  std::chrono::milliseconds deadline() const { return std::chrono::milliseconds(needs_time() ? 300 : 20000); }
};

inline void sum_of_four(Communicator& world) {
  std::vector<float> data(4);
  world.all_reduce(data, ReduceOp::Sum);
}
template <typename T, int n>
void reduce_over(Communicator& world, ReduceOp op) {
  std::vector<T> data(n);
  world.all_reduce(data, op);
}
template <int root>
void from_root(Communicator& world) {
  std::vector<float> data(4);
  world.broadcast(data, root);
}
template <int root>
void to_root(Communicator& world) {
  std::vector<float> data(4), sum(4);
  world.reduce(data, sum, ReduceOp::Sum, root);
}
inline void on_device(Communicator& world) {
  std::vector<float> data(4);
  world.all_reduce(Buffer(data.data(), 4, DType::F32, Device{Device::Kind::Cuda, 0}), ReduceOp::Sum);
}
// A step of training as ZeRO takes it.
inline void step(Communicator& world) {
  std::vector<float> whole(static_cast<size_t>(world.size()) * 100), shard(100);
  world.reduce_scatter(whole, shard, ReduceOp::Sum);
  world.all_gather(shard, whole);
}

inline const std::vector<Disagreement>& disagreements() {
  using C = Communicator;
  static const std::vector<Disagreement> table{
      {"operation", sum_of_four, [](C& w) { w.barrier(); }, "operation"},
      {"count", sum_of_four, [](C& w) { reduce_over<float, 5>(w, ReduceOp::Sum); }, "count"},
      {"dtype of the same size", sum_of_four, [](C& w) { reduce_over<int32_t, 4>(w, ReduceOp::Sum); }, "dtype"},
      {"device", sum_of_four, on_device, "", Told::Throws},
      {"reduce op", sum_of_four, [](C& w) { reduce_over<float, 4>(w, ReduceOp::Max); }, "reduce op"},
      {"reduce op of long messages", [](C& w) { reduce_over<float, 100000>(w, ReduceOp::Sum); },
       [](C& w) { reduce_over<float, 100000>(w, ReduceOp::Max); }, "reduce op"},
      {"count of long messages", [](C& w) { reduce_over<float, 100000>(w, ReduceOp::Sum); }, sum_of_four, "count"},
      {"root of a broadcast", from_root<0>, from_root<1>, "root"},
      {"root of a reduce", to_root<1>, to_root<0>, "root"},
      {"swapped order", [](C& w) { sum_of_four(w), from_root<0>(w); }, [](C& w) { from_root<0>(w), sum_of_four(w); },
       "operation"},
      {"a missing call", [](C& w) { sum_of_four(w), w.barrier(); }, [](C& w) { w.barrier(); }, "operation"},
      {"an extra call", [](C& w) { w.barrier(); }, [](C& w) { sum_of_four(w), w.barrier(); }, "operation"},
      {"half a step ahead", [](C& w) { step(w), step(w); }, [](C& w) { sum_of_four(w), step(w); }, "operation"},
      {"one step ahead", [](C& w) { step(w), step(w), w.barrier(); }, [](C& w) { step(w), w.barrier(); }, "operation"},
      {"a split that not all know of", sum_of_four, [](C& w) { w.split(0, 0); }, "operation"},
      {"a rank waits in another group", [](C& w) { w.split(0, 0), w.barrier(); }, [](C& w) { w.split(0, 0)->barrier(); }, "",
       Told::Groups},
      {"one rank leaves early", [](C& w) { sum_of_four(w), sum_of_four(w); }, sum_of_four, "operation", Told::Leaves},
      {"all but one leave", sum_of_four, [](C& w) { sum_of_four(w), sum_of_four(w); }, "operation", Told::Leaves},
      {"an exception", sum_of_four, [](C&) { fail("injected"); }, "", Told::Throws},
      {"a rank that does not come", sum_of_four,
       [](C&) { std::this_thread::sleep_for(std::chrono::milliseconds(1800)); },  // longer than the others wait for its answer
       "", Told::Late},
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

/// Judges what rank `rank` was told: by `told_by`, or by an error of its own that went further.
inline void expect_report(Report& report, const std::string& text, const Disagreement& kind, int rank, int ranks,
                          int odd_rank) {
  const bool is_odd = rank == odd_rank;
  if (is_odd && (kind.told == Told::Throws || kind.told == Told::Late)) {  // its own error, or nothing
    report.expect(text.find("(world), peer") == std::string::npos, "the odd rank was told '{}'", text);
    return;
  }
  if (text.empty()) {
    const bool leaves = kind.told == Told::Leaves && is_odd == (kind.odd == sum_of_four);
    report.expect(leaves, "rank {} of {} was told nothing", rank, ranks);
    return;
  }
  const auto says = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  if (kind.told == Told::Differ || kind.told == Told::Leaves) {
    const std::string odd = message("but rank {} differs in {}: got ", odd_rank, kind.field);
    const std::string tie = message("but they differ in {}: got ", kind.field);
    report.expect(
        says(odd) || (ranks == 2 && says(tie)) || (ranks == 2 && kind.told == Told::Leaves && says("leaves after #3")),
        "rank {} of {}: '{}' lacks '{}'", rank, ranks, text, odd);
  } else if (kind.told != Told::Groups) {
    report.expect(says(message(", peer {}: ", odd_rank)), "rank {} of {}: '{}' blames another than rank {}", rank, ranks, text,
                  odd_rank);
    report.expect(kind.told == Told::Throws
                      ? says("has left because of an exception") || says("failed: ")
                      : says("rank " + to_text(odd_rank) + " has not come") || says("within the deadline of 300 ms"),
                  "rank {} of {}: '{}' does not say why", rank, ranks, text);
  }
  report.expect(says(message(" on rank {} of {} (world", rank, ranks)), "'{}' lacks its rank", text);
  report.expect(says("rank  call (call site): state\n"), "'{}' lacks the table", text);
}

}  // namespace ringlet::test
