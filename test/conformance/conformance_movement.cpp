// Collectives and messages that move bytes and add nothing.
#include <algorithm>
#include <numeric>
#include <utility>

#include "test/conformance/conformance.h"
#include "test/support/serial_reference.h"

namespace ringlet::test {
namespace {

template <typename T>
void expect_same(Report& report, const std::vector<T>& got, const std::vector<T>& right, const std::string& what) {
  for (size_t i = 0; i < right.size(); ++i) {
    if (!same_bits(got[i], right[i])) {
      report.expect(false, "{}, {} elements of {}: element {} differs", what, right.size(), dtype_of<T>, i);
      return;
    }
  }
  report.expect(got.size() == right.size(), "{}: size", what);
}

template <typename F>
void for_all_dtypes(F&& f) {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::U8}) {
    dispatch_all(dtype, f);
  }
}

template <typename T>
std::vector<T> gathered(int ranks, int64_t n, uint64_t seed) {
  std::vector<T> all;
  for (int r = 0; r < ranks; ++r) {
    const std::vector<T> shard = input_of<T>(r, n, seed);
    all.insert(all.end(), shard.begin(), shard.end());
  }
  return all;
}

void broadcast_from_every_root(Communicator& world, Report& report) {
  for_all_dtypes([&]<typename T>() {
    for (int root = 0; root < world.size(); ++root) {
      for (const int64_t n : edge_sizes(world.size())) {
        std::vector<T> data = input_of<T>(world.rank(), n);
        world.broadcast(data, root);
        expect_same(report, data, input_of<T>(root, n), message("root {}", root));
      }
    }
  });
}

// Longer than what a transport can hold on its way, several times: what is still to be read must not be overwritten.
void broadcast_much(Communicator& world, Report& report) {
  for (int round = 0; round < 4; ++round) {
    const int root = round % world.size();
    const auto seed = static_cast<uint64_t>(round);
    std::vector<float> data = input_of<float>(world.rank(), 1'000'003, seed);
    world.broadcast(data, root);
    expect_same(report, data, input_of<float>(root, 1'000'003, seed), message("root {}", root));
  }
}

void gather_in_rank_order(Communicator& world, Report& report) {
  for_all_dtypes([&]<typename T>() {
    for (const int64_t n : edge_sizes(world.size())) {
      const std::vector<T> right = gathered<T>(world.size(), n, 1), shard = input_of<T>(world.rank(), n, 1);
      std::vector<T> full(right.size());
      world.all_gather(shard, full);
      expect_same(report, full, right, "out of place");
      expect_same(report, shard, input_of<T>(world.rank(), n, 1), "input after");

      std::vector<T> whole(right.size());
      const std::span<T> mine = std::span(whole).subspan(static_cast<size_t>(world.rank() * n), static_cast<size_t>(n));
      std::copy(shard.begin(), shard.end(), mine.begin());
      world.all_gather(mine, whole);
      expect_same(report, whole, right, "in place");
    }
  });
}

void messages_match_by_tag(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank(), next = (r + 1) % P, prev = (r + P - 1) % P;
  if (P == 1) {
    return;
  }
  const std::vector<float> first = input_of<float>(r, 100, 2), second = input_of<float>(r, 7, 3);
  std::vector<float> got_first(100), got_second(7);
  Work send_first = world.start_send(first, next, 5), send_second = world.start_send(second, next, 6);
  world.recv(got_second, prev, 6);  // the later one first
  world.recv(got_first, prev, 5);
  send_first.wait();
  send_second.wait();
  expect_same(report, got_first, input_of<float>(prev, 100, 2), "tag 5");
  expect_same(report, got_second, input_of<float>(prev, 7, 3), "tag 6");
}

void messages_of_one_tag_keep_their_order(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank(), next = (r + 1) % P, prev = (r + P - 1) % P;
  if (P == 1) {
    return;
  }
  const std::vector<int32_t> a{10 * r + 1}, b{10 * r + 2}, none;
  std::vector<int32_t> got_a(1), got_b(1), got_none;
  Work receive_a = world.start_recv(got_a, prev), receive_b = world.start_recv(got_b, prev);
  Work send_a = world.start_send(a, next), send_b = world.start_send(b, next);
  receive_b.wait();  // waited for in another order than posted
  receive_a.wait();
  report.expect(got_a[0] == 10 * prev + 1 && got_b[0] == 10 * prev + 2, "got {} and {}", got_a[0], got_b[0]);
  send_a.wait();
  send_b = Work();  // an assignment waits too
  Work sending = world.start_send(a, next), receiving = world.start_recv(got_a, prev);
  sending.wait();  // everybody first for what needs the other's receive, which has been started
  receiving.wait();
  Work empty = world.start_send(none, next);
  world.recv(got_none, prev);
  empty.wait();
  empty.wait();
  report.expect(empty.done(), "work is done after wait");
}

// All hear of it before anything is written. On some backends it is the end of the group.
void parts_of_another_size_are_refused(Communicator& world, Report& report) {
  const auto P = static_cast<size_t>(world.size());
  for (const int64_t sent : {11, 2000, 60000}) {
    const std::unique_ptr<Communicator> part = world.split(0, world.rank());
    std::vector<int64_t> to(P, 10), from(P, 10);
    to[P - 1] = world.rank() == 0 ? sent : 10;
    std::vector<float> in(10 * P + static_cast<size_t>(world.rank() == 0 ? sent - 10 : 0), 7.0F), memory(10 * P + 60000, -1.0F);
    const Buffer out(memory.data(), static_cast<int64_t>(10 * P), DType::F32);
    if (P == 1) {
      report.expect_error<Error>("what this rank sends itself must be", [&] { part->all_to_all_v(in, to, out, from); });
    } else {
      report.expect_error<CommError>(message("got {} elements from rank 0 where rank {} expects 10", sent, P - 1),
                                     [&] { part->all_to_all_v(in, to, out, from); });
    }
    report.expect(memory == std::vector<float>(memory.size(), -1.0F), "something was written");
    world.barrier();
  }
}

void blocking_messages_pair_up(Communicator& world, Report& report) {
  const int r = world.rank();
  const std::vector<double> data = input_of<double>(r, 50000);
  std::vector<double> got(data.size());
  if (r % 2 == 0 && r + 1 < world.size()) {
    world.send(data, r + 1);
    world.recv(got, r + 1);
    expect_same(report, got, input_of<double>(r + 1, 50000), "from the right");
  } else if (r % 2 == 1) {
    world.recv(got, r - 1);
    world.send(data, r - 1);
    expect_same(report, got, input_of<double>(r - 1, 50000), "from the left");
  }
}

// Rank 0 leaves last: its flag, sent before the barrier, must be there without waiting long; and no rank may be lost.
void barriers_follow_each_other(Communicator& world, Report& report) {
  for (int round = 0; round < 20; ++round) {
    world.barrier();
  }
  int64_t here = 1;
  world.all_reduce(std::span(&here, 1), ReduceOp::Sum);
  report.expect(here == world.size(), "got {} ranks", here);
}

void groups_are_ordered_by_key(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  const std::unique_ptr<Communicator> reversed = world.split(0, -r);
  report.expect(reversed->rank() == P - 1 - r && reversed->size() == P, "reversed: got {} of {}", reversed->rank(),
                reversed->size());

  const std::unique_ptr<Communicator> equal_keys = world.split(7, 0);
  report.expect(equal_keys->rank() == r, "equal keys keep the order: got {}", equal_keys->rank());
  report.expect(equal_keys->group() == world.group() + "/7", "name: got {}", equal_keys->group());

  const std::unique_ptr<Communicator> half = world.split(r % 2, r);
  int64_t sum = r;
  half->all_reduce(std::span(&sum, 1), ReduceOp::Sum);
  int64_t right = 0;
  for (int i = r % 2; i < P; i += 2) {
    right += i;
  }
  report.expect(sum == right && half->size() == (P + 1 - r % 2) / 2, "half: got {}, right {}", sum, right);
}

void negative_colors_stay_out(Communicator& world, Report& report) {
  const int r = world.rank();
  const std::unique_ptr<Communicator> part = world.split(r == 0 ? -1 : 3, 0);
  report.expect((part == nullptr) == (r == 0), "only rank 0 is out");
  if (part != nullptr) {
    std::unique_ptr<Communicator> nested = part->split(0, 0);
    std::vector<float> data = input_of<float>(r, 10);
    nested->broadcast(data, 0);
    expect_same(report, data, input_of<float>(1, 10), "nested group");
  }
  const std::unique_ptr<Communicator> nobody = world.split(-1, 0);
  report.expect(nobody == nullptr, "all stay out");
}

void groups_and_their_parent_do_not_meet(Communicator& world, Report& report) {
  const int r = world.rank();
  std::unique_ptr<Communicator> child;
  {
    const std::unique_ptr<Communicator> parent = world.split(0, 0);
    child = parent->split(0, 0);
  }  // the child outlives its parent
  std::vector<float> a = input_of<float>(r, 33, 4), b = input_of<float>(r, 33, 5);
  child->broadcast(a, 0);
  world.broadcast(b, world.size() - 1);
  expect_same(report, a, input_of<float>(0, 33, 4), "child");
  expect_same(report, b, input_of<float>(world.size() - 1, 33, 5), "world");
}

}  // namespace

const std::vector<ConformanceCase>& movement_cases() {
  static const std::vector<ConformanceCase> cases{
      {"broadcast from every root", broadcast_from_every_root},
      {"broadcast of megabytes", broadcast_much},
      {"all_gather puts shards in rank order", gather_in_rank_order},
      {"messages match by tag", messages_match_by_tag},
      {"messages of one tag keep their order", messages_of_one_tag_keep_their_order},
      {"parts of another size than expected are refused", parts_of_another_size_are_refused},
      {"blocking messages pair up", blocking_messages_pair_up},
      {"barriers follow each other", barriers_follow_each_other},
      {"split orders by key, then rank", groups_are_ordered_by_key},
      {"a negative color joins no group", negative_colors_stay_out},
      {"messages of a group and of its parent do not meet", groups_and_their_parent_do_not_meet},
  };
  return cases;
}

}  // namespace ringlet::test
