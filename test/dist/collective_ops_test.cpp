#include "dist/collective_ops.h"

#include "dist/agreement.h"
#include "dist/mesh.h"
#include "test/dist/toy_module.h"
#include "test/support/catch.h"
#include "test/support/report.h"
#include "test/support/run_ranks.h"

using namespace ringlet;
using namespace ringlet::test;

namespace {

using Values = std::vector<double>;

Tensor two_by_two(int rank) {
  const auto k = static_cast<float>(rank + 1);
  return Tensor::from<float>({k, 2 * k, 3 * k, 4 * k}, {2, 2});
}

}  // namespace

TEST_CASE("a strided view is reduced where it stands, and its neighbours stay [H5]", "[dist]") {
  auto column = per_rank<Values>(2), transposed = per_rank<Values>(2);
  run_ranks(2, [&](Communicator& comm) {
    Tensor x = two_by_two(comm.rank());
    all_reduce(comm, x.narrow(1, 0, 1), ReduceOp::Sum);
    column[static_cast<size_t>(comm.rank())] = x.to_vector();
    Tensor y = two_by_two(comm.rank());
    all_reduce(comm, comm.rank() == 0 ? y.transpose(0, 1) : y, ReduceOp::Sum);  // rank 0 brings [[1, 3], [2, 4]]
    transposed[static_cast<size_t>(comm.rank())] = y.to_vector();
  });
  CHECK(column[0] == Values{3, 2, 9, 4});
  CHECK(column[1] == Values{3, 4, 9, 8});
  CHECK(transposed[0] == Values{1 + 2, 2 + 6, 3 + 4, 4 + 8});  // the sum, seen through the transpose
  CHECK(transposed[1] == Values{1 + 2, 3 + 4, 2 + 6, 4 + 8});
}

TEST_CASE("broadcast, all_gather and reduce_scatter take strided tensors and stack along dim 0 [H5] [H11] [G1]", "[dist]") {
  for (const int ranks : {1, 2, 3}) {
    auto reports = per_rank<Report>(ranks);
    run_ranks(ranks, [&](Communicator& comm) {
      Report& report = reports[static_cast<size_t>(comm.rank())];
      const int r = comm.rank();
      Tensor x = two_by_two(r);
      broadcast(comm, x.narrow(1, 1, 1), ranks - 1);
      report.expect(x.at(1) == 2.0 * ranks && x.at(3) == 4.0 * ranks && x.at(0) == r + 1.0, "broadcast of a column");

      const Tensor gathered = all_gather(comm, two_by_two(r).transpose(0, 1));
      report.expect(gathered.shape() == Shape{2 * ranks, 2}, "all_gather gives {}", gathered.shape());
      for (int rank = 0; rank < ranks; ++rank) {
        report.expect(gathered.at(4 * rank + 1) == 3.0 * (rank + 1), "all_gather: rank {} brought {}", rank,
                      gathered.at(4 * rank + 1));
      }
      const Tensor shard = reduce_scatter(comm, gathered, ReduceOp::Avg);
      report.expect(shard.to_vector() == two_by_two(r).transpose(0, 1).to_vector(), "reduce_scatter undoes all_gather");
      report.expect(all_gather(comm, Tensor::empty({0, 3})).numel() == 0, "nothing gathers to nothing");
    });
    for (const Report& report : reports) {
      CHECK(report.failures() == std::vector<std::string>{});
    }
  }
}

TEST_CASE("what a collective cannot take is an error that says so", "[dist]") {
  run_ranks(1, [&](Communicator& comm) {
    Report report;
    report.expect_error<Error>("dim 0 of a tensor of shape [3, 2] is stretched", [&] {
      all_reduce(comm, floats({1, 2}).expand({3, 2}), ReduceOp::Sum);
    });
    report.expect_error<Error>("undefined tensor", [&] { broadcast(comm, Tensor(), 0); });
    report.expect_error<Error>("needs contiguous elements", [&] {
      Tensor x = two_by_two(0).transpose(0, 1);
      static_cast<void>(buffer_of(x));
    });
    report.expect_error<Error>("at least one dim", [&] { all_gather(comm, Tensor::zeros({})); });
    report.expect_error<Error>("avg", [&] { all_reduce(comm, Tensor::zeros({2}, DType::I32), ReduceOp::Avg); });
    CHECK(report.failures() == std::vector<std::string>{});
  });
}

TEST_CASE("a fault on some ranks becomes the same error on all", "[dist]") {
  auto texts = per_rank<std::string>(4);
  run_ranks(4, [&](Communicator& comm) {
    const auto r = static_cast<size_t>(comm.rank());
    try {
      do_together<DataError>(comm, [&] { check(r != 2 && r != 3, "rank {} cannot", r); });
    } catch (const DataError& error) {
      texts[r] = error.what();
    }
    do_together<DataError>(comm, [] {});
  });
  CHECK(texts == std::vector<std::string>(4, "rank 2 cannot"));
}

TEST_CASE("ranks agree on a value only if all have it", "[dist]") {
  for (const uint64_t odd : {0ULL, 1ULL, 0x8000000000000000ULL, ~0ULL}) {
    auto same = per_rank<int>(3), other = per_rank<int>(3);
    run_ranks(3, [&](Communicator& comm) {
      same[static_cast<size_t>(comm.rank())] = same_on_all_ranks(comm, odd) ? 1 : 0;
      other[static_cast<size_t>(comm.rank())] = same_on_all_ranks(comm, comm.rank() == 1 ? odd : 5) ? 1 : 0;
    });
    CHECK(same == std::vector<int>{1, 1, 1});
    CHECK(other == std::vector<int>{0, 0, 0});
  }
}

TEST_CASE("a mesh joins the ranks that differ in one coordinate", "[dist]") {
  auto seen = per_rank<std::vector<int64_t>>(6);
  run_ranks(6, [&](Communicator& world) {
    Mesh mesh(world, {{"replicate", 2}, {"shard", 3}});
    auto& mine = seen[static_cast<size_t>(world.rank())];
    for (const char* axis : {"replicate", "shard"}) {
      Tensor sum = Tensor::from<int64_t>({world.rank()}, {1});
      all_reduce(mesh.along(axis), sum, ReduceOp::Sum);
      mine.push_back(mesh.coordinate(axis));
      mine.push_back(mesh.along(axis).rank());
      mine.push_back(static_cast<int64_t>(sum.item()));
    }
  });
  for (int64_t rank = 0; rank < 6; ++rank) {
    const int64_t row = rank / 3, column = rank % 3;
    CHECK(seen[static_cast<size_t>(rank)] == std::vector<int64_t>{row, row, 2 * column + 3, column, column, 3 * (3 * row + 1)});
  }
}

TEST_CASE("a mesh that does not fit the ranks is refused", "[dist]") {
  run_ranks(1, [&](Communicator& world) {
    Report report;
    report.expect_error<Error>("need at least 2 ranks, there are 1", [&] { Mesh(world, {{"data", 2}}); });
    report.expect_error<Error>("must be positive, got 0 for data", [&] { Mesh(world, {{"data", 0}}); });
    report.expect_error<Error>("got data twice", [&] { Mesh(world, {{"data", 1}, {"data", 1}}); });
    Mesh mesh(world, {{"data", 1}, {"tensor", 1}});
    report.expect_error<Error>("the axes are data, tensor, got pipe", [&] { static_cast<void>(mesh.coordinate("pipe")); });
    CHECK(report.failures() == std::vector<std::string>{});
  });
}
