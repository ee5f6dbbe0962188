// Collectives in which every rank gives or gets a part of its own, the forms with uneven parts, exchange, and many buffers at once.
#include <algorithm>
#include <numeric>

#include "test/conformance/conformance.h"
#include "test/support/serial_reference.h"

namespace ringlet::test {
namespace {

template <typename F>
void for_all_dtypes(F&& f) {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::U8}) {
    dispatch_all(dtype, f);
  }
}

template <typename T>
void expect_same(Report& report, std::span<const T> got, std::span<const T> right, const std::string& what) {
  const bool same = got.size() == right.size() && std::equal(got.begin(), got.end(), right.begin(), same_bits<T>);
  report.expect(same, "{}: {} elements of {} differ from {} right ones", what, got.size(), dtype_of<T>, right.size());
}

// Uneven parts of P ranks: none, one, many, …; turned by `turn`, so that every rank has each size once.
std::vector<int64_t> uneven_counts(int ranks, int turn) {
  constexpr int64_t kSizes[] = {3, 0, 1, 1000, 7, 0, 64, 2};
  std::vector<int64_t> counts;
  for (int r = 0; r < ranks; ++r) {
    counts.push_back(kSizes[(r + turn) % 8]);
  }
  return counts;
}
std::vector<int64_t> even_counts(int ranks, int64_t n) { return std::vector<int64_t>(static_cast<size_t>(ranks), n); }

template <typename T>
struct Layout {
  explicit Layout(std::span<const int64_t> parts) : counts(parts.begin(), parts.end()) {}
  int64_t begin(int rank) const { return std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0}); }
  int64_t total() const { return begin(static_cast<int>(counts.size())); }
  std::span<T> part(std::vector<T>& whole, int rank) const {
    return std::span(whole).subspan(static_cast<size_t>(begin(rank)), static_cast<size_t>(counts[static_cast<size_t>(rank)]));
  }
  // Part i is what rank i puts in.
  std::vector<T> gathered() const {
    std::vector<T> all;
    for (size_t r = 0; r < counts.size(); ++r) {
      const std::vector<T> one = input_of<T>(static_cast<int>(r), counts[r], 1);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
  std::vector<int64_t> counts;
};

// Both forms of gather and all_gather, apart and in place.
template <typename T>
void gather_once(Communicator& world, Report& report, const Layout<T>& layout, int root, bool even) {
  const int r = world.rank();
  const std::vector<T> right = layout.gathered(), shard = input_of<T>(r, layout.counts[static_cast<size_t>(r)], 1);
  std::vector<T> whole(right.size()), full(right.size()), everywhere(right.size());
  std::copy(shard.begin(), shard.end(), layout.part(whole, r).begin());
  const std::span<T> mine = layout.part(whole, r);
  if (even) {
    world.gather(shard, full, root);
    world.gather(mine, whole, root);
  } else {
    world.gather_v(shard, full, layout.counts, root);
    world.gather_v(mine, whole, layout.counts, root);
    world.all_gather_v(shard, everywhere, layout.counts);
    expect_same<T>(report, everywhere, right, "all_gather_v");
    std::fill(everywhere.begin(), everywhere.end(), T{});
    std::copy(shard.begin(), shard.end(), layout.part(everywhere, r).begin());
    world.all_gather_v(layout.part(everywhere, r), everywhere, layout.counts);
    expect_same<T>(report, everywhere, right, "all_gather_v in place");
  }
  expect_same<T>(report, full, r == root ? right : std::vector<T>(right.size()), message("apart, root {}", root));
  expect_same<T>(report, r == root ? whole : right, right, message("in place, root {}", root));
}

template <typename T>
void scatter_once(Communicator& world, Report& report, const Layout<T>& layout, int root, bool even) {
  const int r = world.rank();
  std::vector<T> right = input_of<T>(root, layout.total(), 2), full = right;
  std::vector<T> shard(layout.part(full, r).size()), same(shard.size());
  const std::span<T> in_place = r == root ? layout.part(full, r) : std::span<T>(same);
  if (even) {
    world.scatter(full, shard, root);
    world.scatter(full, in_place, root);
  } else {
    world.scatter_v(full, shard, layout.counts, root);
    world.scatter_v(full, in_place, layout.counts, root);
  }
  expect_same<T>(report, shard, layout.part(right, r), message("apart, root {}", root));
  expect_same<T>(report, in_place, layout.part(right, r), message("in place, root {}", root));
  expect_same<T>(report, full, right, "input after");
}

// once(layout, root, even) for every root, every dtype and parts of every kind, though not for all of them together.
template <typename Once>
void for_all_layouts(int ranks, Once&& once) {
  for (int root = 0; root < ranks; ++root) {
    once(Layout<float>(even_counts(ranks, root % 3)), root, true);
    once(Layout<float>(uneven_counts(ranks, root)), root, false);
  }
  for_all_dtypes([&]<typename T>() {
    const int root = static_cast<int>(size_of(dtype_of<T>)) % ranks;
    once(Layout<T>(even_counts(ranks, 1000)), root, true);
    once(Layout<T>(uneven_counts(ranks, 0)), root, false);
  });
}

void every_root_gathers(Communicator& world, Report& report) {
  for_all_layouts(world.size(),
                  [&](const auto& layout, int root, bool even) { gather_once(world, report, layout, root, even); });
}

void every_root_scatters(Communicator& world, Report& report) {
  for_all_layouts(world.size(),
                  [&](const auto& layout, int root, bool even) { scatter_once(world, report, layout, root, even); });
}

// What every rank gives to every other: count(from, to) elements that only this pair has.
template <typename T, typename Count>
struct Mail {
  Mail(int ranks, int rank, Count&& count) {
    for (int i = 0; i < ranks; ++i) {
      add(out, rank, i, count(rank, i));
      add(right, i, rank, count(i, rank));
      to.push_back(count(rank, i));
      from.push_back(count(i, rank));
    }
  }
  static void add(std::vector<T>& values, int from, int to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      values.push_back(input_value<T>(from, to * 1000 + i, 3));
    }
  }
  std::vector<T> out{}, right{};
  std::vector<int64_t> to{}, from{};
};

void everybody_gives_to_everybody(Communicator& world, Report& report) {
  for_all_dtypes([&]<typename T>() {
    for (const int64_t n : {0, 257}) {
      const auto count = [n](int, int) { return n; };
      Mail<T, decltype(count)&> mail(world.size(), world.rank(), count);
      std::vector<T> in = mail.out, got(in.size());
      world.all_to_all(in, got);
      expect_same<T>(report, got, mail.right, "apart");
      expect_same<T>(report, in, mail.out, "input after");
      world.all_to_all(in, in);
      expect_same<T>(report, in, mail.right, "in place");
    }
  });
}

void uneven_parts_go_to_everybody(Communicator& world, Report& report) {
  const auto count = [](int from, int to) { return from % 3 == 2 ? 0 : int64_t{(from + 2 * to) % 5}; };
  for_all_dtypes([&]<typename T>() {
    const Mail<T, decltype(count)&> mail(world.size(), world.rank(), count);
    std::vector<T> got(mail.right.size());
    world.all_to_all_v(mail.out, mail.to, got, mail.from);
    expect_same<T>(report, got, mail.right, "all_to_all_v");
  });
}

void owners_of_uneven_parts_reduce(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  const auto once = [&]<typename T>(const Layout<T>& layout, Reduction op) {
    std::vector<T> full = input_of<T>(r, layout.total(), 4), right, shard(layout.part(full, r).size());
    for (size_t i = 0; i < shard.size(); ++i) {
      right.push_back(reduced_value<T>(op, P, layout.begin(r) + static_cast<int64_t>(i), 4));
    }
    world.reduce_scatter_v(full, shard, layout.counts, op);
    expect_same<T>(report, shard, right, message("apart, {}", op));
    expect_same<T>(report, full, input_of<T>(r, layout.total(), 4), "input after");
    world.reduce_scatter_v(full, layout.part(full, r), layout.counts, op);
    expect_same<T>(report, layout.part(full, r), right, message("in place, {}", op));
  };
  for (int turn = 0; turn < 8; turn += 3) {
    for_all_dtypes([&]<typename T>() { once(Layout<T>(uneven_counts(P, turn)), ReduceOp::Sum); });
    once(Layout<float>(uneven_counts(P, turn)), pre_mul_sum(0.3F));
    once(Layout<bf16>(uneven_counts(P, turn)), ReduceOp::Avg);
    once(Layout<int64_t>(uneven_counts(P, turn)), ReduceOp::Max);
  }
  std::vector<int64_t> long_part = even_counts(P, 1000);
  long_part.back() = 300007;  // more than a segment, and only one rank has it
  once(Layout<float>(long_part), ReduceOp::Sum);
}

// A ring in one call each way: the peers of one call may be different ranks, and the two sizes are.
void exchanges_do_not_wait_in_a_circle(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  for (int shift = 1; shift < P; ++shift) {
    const int dest = (r + shift) % P, source = (r + P - shift) % P;
    for (const int64_t n : {0, 1, 30000}) {
      const std::vector<float> out = input_of<float>(r, n + r), right = input_of<float>(source, n + source);
      std::vector<float> in(right.size()), later(right.size());
      world.exchange(out, dest, in, source, shift);
      world.start_exchange(out, dest, later, source).wait();
      expect_same<float>(report, in, right, message("shift {}", shift));
      expect_same<float>(report, later, right, message("started, shift {}", shift));
    }
  }
}

void many_buffers_are_one_call(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  const uint64_t before = world.sequence();
  const auto once = [&]<typename T>(Reduction op, bool starts) {
    std::vector<T> a = input_of<T>(r, 5, 1), b = input_of<T>(r, 1000, 2), none, c = input_of<T>(r, 1, 3);
    const std::vector<Buffer> buffers{a, b, none, c};
    starts ? world.start_all_reduce(buffers, op).wait() : world.all_reduce(buffers, op);
    uint64_t seed = 0;
    for (const std::vector<T>* one : {&a, &b, &c}) {
      ++seed;
      std::vector<T> right;
      for (size_t i = 0; i < one->size(); ++i) {
        right.push_back(reduced_value<T>(op, P, static_cast<int64_t>(i), seed));
      }
      expect_same<T>(report, *one, right, message("buffer {}", seed));
    }
  };
  once.template operator()<float>(ReduceOp::Sum, false);
  once.template operator()<bf16>(ReduceOp::Avg, true);
  once.template operator()<int32_t>(ReduceOp::Max, false);
  report.expect(world.sequence() == before + 3, "one number each: got {}", world.sequence() - before);
  world.all_reduce(std::span<const Buffer>(), ReduceOp::Sum);
  std::vector<float> f(2);
  std::vector<double> d(2);
  const std::vector<Buffer> mixed{f, d};
  report.expect_error<Error>("must be alike, got f32 on cpu and f64", [&] { world.all_reduce(mixed, ReduceOp::Sum); });
  const std::vector<Buffer> twice{f, f}, wrapping{f, Buffer(f.data(), int64_t{1} << 62, DType::F32)};
  report.expect_error<Error>("must not overlap", [&] { world.all_reduce(twice, ReduceOp::Sum); });
  report.expect_error<Error>("larger than any memory", [&] { world.all_reduce(wrapping, ReduceOp::Sum); });
}

void mistakes_with_parts_are_errors(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  std::vector<float> a(static_cast<size_t>(4 * P)), b(a.size()), four(4), five(5);
  const std::vector<int64_t> counts = even_counts(P, 4), too_few = even_counts(P - 1, 4), too_many = even_counts(P, 5);
  std::vector<int64_t> negative = counts;
  negative.front() = -1;
  report.expect_error<Error>("gather: root", [&] { world.gather(four, a, P); });
  report.expect_error<Error>("scatter: root", [&] { world.scatter(a, four, -1); });
  report.expect_error<Error>("one count for each", [&] { world.all_gather_v(four, a, too_few); });
  report.expect_error<Error>("must add up to the whole", [&] { world.all_gather_v(four, a, too_many); });
  report.expect_error<Error>("a count is negative, got -1", [&] { world.all_gather_v(four, a, negative); });
  report.expect_error<Error>("must hold its count of 4 elements, got 5", [&] { world.gather_v(five, a, counts, r); });
  report.expect_error<Error>("its count of 4 elements", [&] { world.reduce_scatter_v(a, five, counts, ReduceOp::Sum); });
  report.expect_error<Error>("all_to_all: input and output", [&] { world.all_to_all(a, std::span(b).first(1)); });
  report.expect_error<Error>("overlap", [&] { world.all_to_all_v(a, counts, a, counts); });
  report.expect_error<Error>("scatter: the whole must hold", [&] { world.scatter(a, five, r); });
  report.expect_error<Error>("must be another rank", [&] { world.exchange(a, r, b, r); });
  world.all_to_all_v(a, counts, b, counts);  // still in step
}

}  // namespace

const std::vector<ConformanceCase>& part_cases() {
  static const std::vector<ConformanceCase> cases{
      {"gather and all_gather_v put parts in rank order", every_root_gathers},
      {"scatter gives every rank its part", every_root_scatters},
      {"all_to_all gives every rank a part of every rank", everybody_gives_to_everybody},
      {"all_to_all_v does so with parts of any size", uneven_parts_go_to_everybody},
      {"reduce_scatter_v has the bits of order T", owners_of_uneven_parts_reduce},
      {"exchanges do not wait in a circle", exchanges_do_not_wait_in_a_circle},
      {"many buffers are one call", many_buffers_are_one_call},
      {"mistakes with parts are errors before anything moves", mistakes_with_parts_are_errors},
  };
  return cases;
}

}  // namespace ringlet::test
