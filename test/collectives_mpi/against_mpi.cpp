#include "test/collectives_mpi/against_mpi.h"

#include <mpi.h>

#include <numeric>

#include "test/support/serial_reference.h"

namespace ringlet::test {
namespace {

MPI_Datatype mpi_type(int32_t) { return MPI_INT32_T; }
MPI_Datatype mpi_type(int64_t) { return MPI_INT64_T; }
MPI_Datatype mpi_type(double) { return MPI_DOUBLE; }

template <typename T>
void compare_reductions(Communicator& world, Report& report, ReduceOp op, MPI_Op mpi_op) {
  const int P = world.size(), root = P / 2;
  const MPI_Datatype type = mpi_type(T{});
  for (const int n : {1, 7, 1000}) {
    const auto in = input_of<T>(world.rank(), n * P, 3);
    std::vector<T> ours(in.size()), theirs(in.size()), our_shard(static_cast<size_t>(n)), their_shard(our_shard.size());
    world.all_reduce(in, ours, op);
    MPI_Allreduce(in.data(), theirs.data(), n * P, type, mpi_op, MPI_COMM_WORLD);
    report.expect(ours == theirs, "all_reduce {} of {} {}", op, n * P, dtype_of<T>);
    world.reduce_scatter(in, our_shard, op);
    MPI_Reduce_scatter_block(in.data(), their_shard.data(), n, type, mpi_op, MPI_COMM_WORLD);
    report.expect(our_shard == their_shard, "reduce_scatter {} of {} {}", op, n, dtype_of<T>);
    std::vector<T> our_root(in.size()), their_root(in.size());
    world.reduce(in, our_root, op, root);
    MPI_Reduce(in.data(), their_root.data(), n * P, type, mpi_op, root, MPI_COMM_WORLD);
    report.expect(world.rank() != root || our_root == their_root, "reduce {} of {} {}", op, n * P, dtype_of<T>);
  }
}

template <typename T>
void compare_movement(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank(), root = P - 1;
  const MPI_Datatype type = mpi_type(T{});
  for (const int n : {1, 7, 1000}) {
    const auto shard = input_of<T>(r, n, 4), whole = input_of<T>(r, n * P, 5);
    std::vector<T> ours(whole.size()), theirs(whole.size()), our_part(shard.size()), their_part(shard.size());
    world.all_gather(shard, ours);
    MPI_Allgather(shard.data(), n, type, theirs.data(), n, type, MPI_COMM_WORLD);
    report.expect(ours == theirs, "all_gather of {} {}", n, dtype_of<T>);
    world.all_to_all(whole, ours);
    MPI_Alltoall(whole.data(), n, type, theirs.data(), n, type, MPI_COMM_WORLD);
    report.expect(ours == theirs, "all_to_all of {} {}", n, dtype_of<T>);
    world.gather(shard, ours, root);
    MPI_Gather(shard.data(), n, type, theirs.data(), n, type, root, MPI_COMM_WORLD);
    report.expect(ours == theirs, "gather of {} {}", n, dtype_of<T>);
    world.scatter(whole, our_part, root);
    MPI_Scatter(whole.data(), n, type, their_part.data(), n, type, root, MPI_COMM_WORLD);
    report.expect(our_part == their_part, "scatter of {} {}", n, dtype_of<T>);
    std::vector<T> our_data = whole, their_data = whole;
    world.broadcast(our_data, root);
    MPI_Bcast(their_data.data(), n * P, type, root, MPI_COMM_WORLD);
    report.expect(our_data == their_data, "broadcast of {} {}", n * P, dtype_of<T>);
  }
}

// Counts as ringlet takes them and as MPI does, with the offsets that MPI wants besides.
struct Counts {
  explicit Counts(const std::vector<int>& all) : ours(all.begin(), all.end()), mpi(all), offsets(all.size()) {
    std::exclusive_scan(all.begin(), all.end(), offsets.begin(), 0);
  }
  size_t total() const { return static_cast<size_t>(offsets.back() + mpi.back()); }
  std::vector<int64_t> ours;
  std::vector<int> mpi, offsets;
};

// Rank i has 3i mod 7 elements (rank 0 none); from i to j go (2i + j) mod 5.
template <typename T>
void compare_uneven(Communicator& world, Report& report) {
  const int P = world.size(), r = world.rank(), root = P / 2;
  const MPI_Datatype type = mpi_type(T{});
  std::vector<int> sizes, to, from;
  for (int i = 0; i < P; ++i) {
    sizes.push_back(3 * i % 7);
    to.push_back((2 * r + i) % 5);
    from.push_back((2 * i + r) % 5);
  }
  const Counts parts(sizes), out(to), in(from);
  const int mine = sizes[static_cast<size_t>(r)];
  const auto shard = input_of<T>(r, mine, 6), whole = input_of<T>(r, static_cast<int64_t>(parts.total()), 7);
  std::vector<T> ours(whole.size()), theirs(whole.size()), our_part(shard.size()), their_part(shard.size());
  world.all_gather_v(shard, ours, parts.ours);
  MPI_Allgatherv(shard.data(), mine, type, theirs.data(), parts.mpi.data(), parts.offsets.data(), type, MPI_COMM_WORLD);
  report.expect(ours == theirs, "all_gather_v of {}", dtype_of<T>);
  world.gather_v(shard, ours, parts.ours, root);
  MPI_Gatherv(shard.data(), mine, type, theirs.data(), parts.mpi.data(), parts.offsets.data(), type, root, MPI_COMM_WORLD);
  report.expect(ours == theirs, "gather_v of {}", dtype_of<T>);
  world.scatter_v(whole, our_part, parts.ours, root);
  MPI_Scatterv(whole.data(), parts.mpi.data(), parts.offsets.data(), type, their_part.data(), mine, type, root, MPI_COMM_WORLD);
  report.expect(our_part == their_part, "scatter_v of {}", dtype_of<T>);
  world.reduce_scatter_v(whole, our_part, parts.ours, ReduceOp::Max);
  MPI_Reduce_scatter(whole.data(), their_part.data(), parts.mpi.data(), type, MPI_MAX, MPI_COMM_WORLD);
  report.expect(our_part == their_part, "reduce_scatter_v of {}", dtype_of<T>);
  const auto sent = input_of<T>(r, static_cast<int64_t>(out.total()), 8);
  std::vector<T> our_mail(in.total()), their_mail(in.total());
  world.all_to_all_v(sent, out.ours, our_mail, in.ours);
  MPI_Alltoallv(sent.data(), out.mpi.data(), out.offsets.data(), type, their_mail.data(), in.mpi.data(), in.offsets.data(),
                type, MPI_COMM_WORLD);
  report.expect(our_mail == their_mail, "all_to_all_v of {}", dtype_of<T>);
}

}  // namespace

void compare_with_mpi(Communicator& world, Report& report) {
  report.about("Open MPI's own calls agree");
  compare_reductions<int32_t>(world, report, ReduceOp::Sum, MPI_SUM);
  compare_reductions<int64_t>(world, report, ReduceOp::Prod, MPI_PROD);
  compare_reductions<double>(world, report, ReduceOp::Max, MPI_MAX);
  compare_reductions<double>(world, report, ReduceOp::Min, MPI_MIN);
  compare_movement<int32_t>(world, report);
  compare_movement<double>(world, report);
  compare_uneven<int32_t>(world, report);
  compare_uneven<int64_t>(world, report);
}

}  // namespace ringlet::test
