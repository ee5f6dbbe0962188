// The arithmetic of reductions on one rank, and the cutting into chunks.
#include "collectives/reduce.h"

#include <limits>
#include <numeric>

#include "collectives/chunks.h"
#include "test/support/catch.h"
#include "test/support/serial_reference.h"

using namespace ringlet;        // NOLINT(google-build-using-namespace)
using namespace ringlet::test;  // NOLINT(google-build-using-namespace)

namespace {

template <typename T>
std::vector<T> reduced(const std::vector<std::vector<T>>& rows, ReduceOp op) {
  std::vector<const T*> inputs;
  for (const std::vector<T>& row : rows) {
    inputs.push_back(row.data());
  }
  std::vector<T> out(rows[0].size());
  reduce_in_order<T>(inputs, out, op);
  return out;
}

}  // namespace

TEST_CASE("a reduction adds in order T", "[reduce]") {
  // With eps = 2^-24: (1 + eps) + eps = 1, but 1 + (eps + eps) = 1 + 2^-23.
  const float eps = 0x1p-24F;
  CHECK(reduced<float>({{1}, {eps}, {eps}}, ReduceOp::Sum)[0] == 1.0F);                  // T(3) = (x0 + x1) + x2
  CHECK(reduced<float>({{1}, {0}, {eps}, {eps}}, ReduceOp::Sum)[0] == 1.0F + 0x1p-23F);  // T(4) = (x0 + x1) + (x2 + x3)
  CHECK(reduced<float>({{1}, {0}, {0}, {0}, {eps}, {eps}}, ReduceOp::Sum)[0] == 1.0F + 0x1p-23F);  // T(6) = T(4) + (x4 + x5)
}

TEST_CASE("a reduction has the same bits whatever its length and wherever its output stands", "[reduce]") {
  for (int ranks = 1; ranks <= 17; ++ranks) {
    for (const int64_t n : {1, 511, 512, 513, 1500}) {
      std::vector<std::vector<float>> rows;
      std::vector<const float*> inputs;
      for (int r = 0; r < ranks; ++r) {
        rows.push_back(input_of<float>(r, n));
        inputs.push_back(rows.back().data());
      }
      const std::vector<float> out = reduced(rows, ReduceOp::Sum);
      reduce_in_order<float>(inputs, rows.back(), ReduceOp::Sum);  // onto an input
      int64_t wrong = 0;
      for (int64_t i = 0; i < n; ++i) {
        const float right = reduced_value<float>(ReduceOp::Sum, ranks, i);
        wrong += same_bits(out[static_cast<size_t>(i)], right) && same_bits(rows.back()[static_cast<size_t>(i)], right) ? 0 : 1;
      }
      INFO(ranks << " ranks, " << n << " elements");
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("bf16 sums 600 ones to 600 with one rounding [B9]", "[reduce]") {
  const std::vector<std::vector<bf16>> ones(600, {bf16(1.0F)});
  CHECK(static_cast<float>(reduced(ones, ReduceOp::Sum)[0]) == 600.0F);  // bf16 additions would stop at 256
  CHECK(static_cast<float>(reduced(ones, ReduceOp::Avg)[0]) == 1.0F);
}

TEST_CASE("an average is the sum divided once", "[reduce]") {
  const std::vector<std::vector<float>> rows{{0.1F}, {0.2F}, {0.4F}};
  CHECK(reduced(rows, ReduceOp::Avg)[0] == ((0.1F + 0.2F) + 0.4F) / 3.0F);  // times 1/3 would round twice
}

TEST_CASE("NaN reaches the result through either operand of min and max", "[reduce]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Avg, ReduceOp::Min, ReduceOp::Max, ReduceOp::Prod}) {
    CHECK(std::isnan(reduced<double>({{nan}, {1}}, op)[0]));
    CHECK(std::isnan(reduced<double>({{1}, {nan}}, op)[0]));
    std::vector<double> mine{nan}, theirs{1};
    reduce_into<double>(mine, theirs, op);
    CHECK(std::isnan(mine[0]));
  }
}

TEST_CASE("of zeros the negative one is the smaller, whichever rank has it", "[reduce]") {
  for (const auto& inputs :
       {std::vector<std::vector<double>>{{-0.0}, {0.0}, {0.0}}, {{0.0}, {-0.0}, {0.0}}, {{0.0}, {0.0}, {-0.0}}}) {
    CHECK(std::signbit(reduced<double>(inputs, ReduceOp::Min)[0]));
    CHECK(!std::signbit(reduced<double>(inputs, ReduceOp::Max)[0]));
  }
}

TEST_CASE("integers wrap, and are compared with their sign", "[reduce]") {
  const int32_t largest = std::numeric_limits<int32_t>::max();
  CHECK(reduced<int32_t>({{largest}, {1}}, ReduceOp::Sum)[0] == std::numeric_limits<int32_t>::min());
  CHECK(reduced<int32_t>({{largest}, {largest}}, ReduceOp::Prod)[0] == 1);
  CHECK(reduced<int32_t>({{-1}, {1}}, ReduceOp::Min)[0] == -1);
  CHECK(reduced<int64_t>({{-1}, {1}}, ReduceOp::Max)[0] == 1);
  CHECK(reduced<uint8_t>({{200}, {100}}, ReduceOp::Sum)[0] == 44);
  CHECK(reduced<uint8_t>({{200}, {100}}, ReduceOp::Prod)[0] == static_cast<uint8_t>(20000));
}

TEST_CASE("chunks cover the data in order, the longer ones first", "[chunks]") {
  std::vector<int32_t> data(11);
  std::iota(data.begin(), data.end(), 0);
  const Chunks<int32_t> chunk(data, 4);
  CHECK(chunk.max_size() == 3);
  CHECK(std::vector<int32_t>(chunk[0].begin(), chunk[0].end()) == std::vector<int32_t>{0, 1, 2});
  CHECK(std::vector<int32_t>(chunk[2].begin(), chunk[2].end()) == std::vector<int32_t>{6, 7, 8});
  CHECK(std::vector<int32_t>(chunk[3].begin(), chunk[3].end()) == std::vector<int32_t>{9, 10});
  CHECK(chunk[-1].data() == chunk[3].data());
  CHECK(chunk[5].data() == chunk[1].data());
  const Chunks<int32_t> few{std::span<int32_t>(data).first(2), 4};
  CHECK(few[1].size() == 1);
  CHECK(few[2].empty());
  CHECK(few.max_size() == 1);
}
