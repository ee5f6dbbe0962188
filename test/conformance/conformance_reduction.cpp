// Collectives that reduce: the same bits as order T computed on one rank.
#include <algorithm>
#include <limits>

#include "test/conformance/conformance.h"
#include "test/support/serial_reference.h"

namespace ringlet::test {
namespace {

// A factor that no product with a random mantissa survives without rounding.
constexpr Reduction kOps[] = {ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Min, ReduceOp::Max, ReduceOp::Prod, pre_mul_sum(0.3F)};

template <typename F>
void for_all_pairs(F&& f) {
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16, DType::I32, DType::I64, DType::U8}) {
    for (const Reduction op : kOps) {
      if (supports(op.op, dtype)) {
        dispatch_all(dtype, [&]<typename T>() { f.template operator()<T>(op); });
      }
    }
  }
}

// got[i] must be element first + i of the reduction. Of long results every 13th is looked at: 13 divides no block or segment.
template <typename T>
void expect_reduced(Report& report, std::span<const T> got, Reduction op, int ranks, int64_t first, uint64_t seed,
                    const char* what) {
  const size_t stride = got.size() > 5000 ? 13 : 1;
  for (size_t i = 0; i < got.size(); i += stride) {
    const T right = reduced_value<T>(op, ranks, first + static_cast<int64_t>(i), seed);
    if (!same_bits(got[i], right)) {
      report.expect(false, "{}, {} of {} {}: element {} is {}, right is {}", what, op, got.size(), dtype_of<T>, i,
                    static_cast<double>(got[i]), static_cast<double>(right));
      return;
    }
  }
  report.expect(true, "");
}

template <typename T>
void all_reduce_once(Communicator& world, Report& report, Reduction op, int64_t n) {
  const uint64_t seed = static_cast<uint64_t>(n);
  const std::vector<T> in = input_of<T>(world.rank(), n, seed);
  std::vector<T> out(in.size()), same = in;
  world.all_reduce(in, out, op);
  expect_reduced<T>(report, out, op, world.size(), 0, seed, "out of place");
  world.all_reduce(same, op);
  report.expect(std::equal(same.begin(), same.end(), out.begin(), same_bits<T>), "in place differs, {} {}", n, op);
  const std::vector<T> before = input_of<T>(world.rank(), n, seed);
  report.expect(std::equal(in.begin(), in.end(), before.begin(), same_bits<T>), "input changed, {} {}", n, op);
}

void all_reduce_of_everything(Communicator& world, Report& report) {
  for_all_pairs([&]<typename T>(Reduction op) {
    for (const int64_t n : edge_sizes(world.size())) {
      all_reduce_once<T>(world, report, op, n);
    }
  });
  all_reduce_once<float>(world, report, ReduceOp::Sum, 100003);
  all_reduce_once<bf16>(world, report, ReduceOp::Avg, 100003);
  all_reduce_once<float>(world, report, ReduceOp::Sum, 700001);  // more than one segment per inbox
}

void reduce_scatter_of_everything(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank();
  const auto once = [&]<typename T>(Reduction op, int64_t n) {
    std::vector<T> full = input_of<T>(r, n * P, 9);
    std::vector<T> shard(static_cast<size_t>(n));
    world.reduce_scatter(full, shard, op);
    expect_reduced<T>(report, shard, op, P, r * n, 9, "out of place");
    const std::vector<T> before = input_of<T>(r, n * P, 9);
    report.expect(std::equal(full.begin(), full.end(), before.begin(), same_bits<T>), "input changed, {} {}", n, op);

    const std::span<T> mine = std::span(full).subspan(static_cast<size_t>(r * n), static_cast<size_t>(n));
    world.reduce_scatter(full, mine, op);
    expect_reduced<T>(report, mine, op, P, r * n, 9, "in place");
  };
  for_all_pairs([&]<typename T>(Reduction op) {
    for (const int64_t n : edge_sizes(P)) {
      once.template operator()<T>(op, n);
    }
  });
  once.template operator()<float>(ReduceOp::Sum, 100003 / P);
}

void reduce_to_every_root(Communicator& world, Report& report) {
  for_all_pairs([&]<typename T>(Reduction op) {
    for (int root = 0; root < world.size(); ++root) {
      const std::vector<T> in = input_of<T>(world.rank(), 130, 6);
      std::vector<T> out(world.rank() == root ? in.size() : 0), same = in;
      world.reduce(in, out, op, root);
      expect_reduced<T>(report, out, op, world.size(), 0, 6, "out of place");
      world.reduce(same, same, op, root);
      report.expect(world.rank() != root || std::equal(same.begin(), same.end(), out.begin(), same_bits<T>),
                    "in place, root {}", root);
    }
  });
  const std::vector<float> in = input_of<float>(world.rank(), 300007, 6);  // more than one segment
  std::vector<float> out(in.size());
  const bool is_root = world.rank() == world.size() - 1;
  world.reduce(in, is_root ? Buffer(out) : Buffer(nullptr, 5, DType::I32), ReduceOp::Sum, world.size() - 1);
  if (is_root) {
    expect_reduced<float>(report, out, ReduceOp::Sum, world.size(), 0, 6, "long");
  }
}

// From four ranks on, adding from left to right gives other bits somewhere: the comparison with order T can fail.
void the_order_can_be_seen(Communicator& world, Report& report) {
  bool differs = false;
  for (int64_t i = 0; i < 1000; ++i) {
    float sum = input_value<float>(0, i);
    for (int r = 1; r < world.size(); ++r) {
      sum += input_value<float>(r, i);
    }
    differs = differs || !same_bits(sum, reduced_value<float>(ReduceOp::Sum, world.size(), i));
  }
  report.expect(differs == (world.size() >= 4), "at {} ranks", world.size());
}

template <typename T>
void nan_reaches_everybody(Communicator& world, Report& report, int64_t n) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Reduction op : kOps) {
    for (int culprit = 0; culprit < world.size(); ++culprit) {
      std::vector<T> data(static_cast<size_t>(n), static_cast<T>(static_cast<float>(world.rank())));
      if (world.rank() == culprit) {
        data.back() = static_cast<T>(kNan);
      }
      world.all_reduce(data, op);
      report.expect(std::isnan(static_cast<float>(data.back())), "{} of {}, NaN from rank {}", op, dtype_of<T>, culprit);
      report.expect(n == 1 || !std::isnan(static_cast<float>(data.front())), "{}: NaN in the wrong place", op);
    }
  }
}

void nan_propagates(Communicator& world, Report& report) {
  for (const int64_t n : {1, 3000}) {
    nan_reaches_everybody<float>(world, report, n);
    nan_reaches_everybody<double>(world, report, n);
    nan_reaches_everybody<bf16>(world, report, n);
  }
}

void integers_wrap(Communicator& world, Report& report) {
  std::vector<int32_t> data{std::numeric_limits<int32_t>::max()};
  world.all_reduce(data, ReduceOp::Sum);
  const auto right = static_cast<int32_t>(static_cast<uint32_t>(world.size()) * 0x7fffffffU);
  report.expect(data[0] == right, "i32: got {}, right {}", data[0], right);
  std::vector<uint8_t> small{200};
  world.all_reduce(small, ReduceOp::Sum);
  report.expect(small[0] == static_cast<uint8_t>(200 * world.size()), "u8: got {}", static_cast<int>(small[0]));
}

void bf16_is_rounded_once(Communicator& world, Report& report) {
  // 256 + 1 + 1 + … : in bf16, whose step at 256 is 2, every single 1 would be lost.
  std::vector<bf16> data{bf16(world.rank() == 0 ? 256.0F : 1.0F)};
  world.all_reduce(data, ReduceOp::Sum);
  const bf16 right(256.0F + static_cast<float>(world.size() - 1));
  report.expect(same_bits(data[0], right), "got {}, right {}", static_cast<float>(data[0]), static_cast<float>(right));
}

// The gradient of two ranks and two micro-batches: (1 + 2, 5 + 7), meant over all four.
void averaged_gradients_are_equal(Communicator& world, Report& report) {
  float gradient = 0;
  for (const float micro : world.rank() == 0 ? std::vector{1.0F, 2.0F} : std::vector{5.0F, 7.0F}) {
    gradient += micro / 2;
  }
  world.all_reduce(std::span(&gradient, 1), ReduceOp::Avg);  // once, after the last micro-batch
  const float right = (1.5F + 6.0F * static_cast<float>(world.size() - 1)) / static_cast<float>(world.size());
  report.expect(gradient == right, "got {}, right {}", gradient, right);
  report.expect(world.size() != 2 || gradient == 3.75F, "two ranks: got {}", gradient);
}

}  // namespace

const std::vector<ConformanceCase>& reduction_cases() {
  static const std::vector<ConformanceCase> cases{
      {"all_reduce has the bits of order T", all_reduce_of_everything},
      {"reduce_scatter has the bits of order T", reduce_scatter_of_everything},
      {"reduce has the bits of order T on every root", reduce_to_every_root},
      {"order T differs from left to right", the_order_can_be_seen},
      {"NaN propagates through every operation", nan_propagates},
      {"integers wrap", integers_wrap},
      {"bf16 is rounded once", bf16_is_rounded_once},
      {"averaged gradients are equal on all ranks [A4]", averaged_gradients_are_equal},
  };
  return cases;
}

}  // namespace ringlet::test
