// Binomial tree (e.g. Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH", 2005):
// ⌈log2 P⌉ rounds, in each of which everybody who has the data hands it to one who has not; a reduction runs the same tree
// towards the root.                                                        T ≈ ⌈log2 P⌉·(α + N·β)
// gather, scatter: of a subtree everything passes through its root.        T ≈ ⌈log2 P⌉·α + (P−1)·n·β      n = a part
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/algorithms/select.h"
#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// Ranks are numbered from the root: v = (r − root) mod P. The parent of v is v without its lowest bit b; its children are
/// v + b/2, …, v + 2, v + 1, the largest subtree first: it has the longest way to go. The subtree of v is v … v + held − 1.
struct BinomialTree {
  BinomialTree(int ranks, int r, int the_root)
      : P(ranks),
        root(the_root),
        v((r - the_root + ranks) % ranks),
        lowest(v == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))) : v & -v),
        held(held_by(v, lowest)) {}
  int rank_of(int number) const { return (number + root) % P; }
  int parent() const { return rank_of(v - lowest); }
  int held_by(int number, int its_lowest) const { return std::min(its_lowest, P - number); }
  /// f(rank, number) for every child.
  template <typename F>
  void for_each_child(F&& f) const {
    for (int distance = lowest / 2; distance > 0; distance /= 2) {
      if (v + distance < P) {
        f(rank_of(v + distance), v + distance, held_by(v + distance, distance));
      }
    }
  }
  int P, root, v, lowest, held;
};

// [snippet: broadcast]
/// data = data of `root`.
template <typename T>
void binomial_tree_broadcast(PointToPoint& net, std::span<T> data, int root) {
  const BinomialTree tree(net.size(), net.rank(), root);
  if (tree.v != 0) {
    net.recv(tree.parent(), data);
  }
  std::vector<Outgoing> children;
  tree.for_each_child([&](int child, int, int) { children.push_back({child, std::as_bytes(data)}); });
  net.transfer(children, {});
}
// [/snippet]

/// full on `root` = mine of rank 0, mine of rank 1, …; elsewhere `full` is not looked at.
template <typename T>
void binomial_tree_gather(PointToPoint& net, std::span<const T> mine, std::span<T> full, int root) {
  const BinomialTree tree(net.size(), net.rank(), root);
  const size_t n = mine.size();
  if (tree.held == 1 && tree.v != 0) {
    return net.send(tree.parent(), mine);
  }
  const Scratch<T> box = net.scratch<T>(static_cast<size_t>(tree.held) * n);  // parts of the subtree, by number
  const auto parts = [&](int number, int count) {
    return box.subspan(static_cast<size_t>(number - tree.v) * n, static_cast<size_t>(count) * n);
  };
  std::vector<Incoming> children;
  tree.for_each_child([&](int child, int number, int held) {
    children.push_back({child, std::as_writable_bytes(parts(number, held))});
  });
  net.transfer({}, children);
  std::copy(mine.begin(), mine.end(), parts(tree.v, 1).begin());
  if (tree.v != 0) {
    return net.send<const T>(tree.parent(), parts(tree.v, tree.held));
  }
  for (int number = 0; number < tree.P; ++number) {
    const std::span<T> part = parts(number, 1);
    std::copy(part.begin(), part.end(),
              full.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(tree.rank_of(number)) * n));
  }
}

/// mine of rank i = part i of `full` on `root`; elsewhere `full` is not looked at. On the root `mine` may be its part.
template <typename T>
void binomial_tree_scatter(PointToPoint& net, std::span<const T> full, std::span<T> mine, int root) {
  const BinomialTree tree(net.size(), net.rank(), root);
  const size_t n = mine.size();
  if (tree.held == 1 && tree.v != 0) {
    return net.recv(tree.parent(), mine);
  }
  const Scratch<T> box = net.scratch<T>(static_cast<size_t>(tree.held) * n);
  const auto parts = [&](int number, int count) {
    return box.subspan(static_cast<size_t>(number - tree.v) * n, static_cast<size_t>(count) * n);
  };
  if (tree.v != 0) {
    net.recv(tree.parent(), parts(tree.v, tree.held));
  }
  for (int number = 0; tree.v == 0 && number < tree.P; ++number) {
    const std::span<const T> part = full.subspan(static_cast<size_t>(tree.rank_of(number)) * n, n);
    std::copy(part.begin(), part.end(), parts(number, 1).begin());
  }
  std::vector<Outgoing> children;
  tree.for_each_child([&](int child, int number, int held) {
    children.push_back({child, std::as_bytes(parts(number, held))});
  });
  net.transfer(children, {});
  const std::span<T> own = parts(tree.v, 1);
  std::copy(own.begin(), own.end(), mine.begin());
}

/// out on `root` = reduction of `in`; elsewhere `out` is ignored. Rank r adds r + 1, r + 2, r + 4, … to itself in this order:
/// order T, for every P. It ends on rank 0, which passes it to `root`. In segments, so that the memory of inner nodes is bounded.
template <Reducible T>
void binomial_tree_reduce(PointToPoint& net, std::span<const T> in, std::span<T> out, Reduction op, int root) {
  const int P = net.size(), r = net.rank();
  const size_t segment = std::min(in.size(), inbox_elements(sizeof(T), 2));
  const Scratch<T> memory = net.scratch<T>(2 * segment);
  for (size_t begin = 0; begin < in.size(); begin += segment) {
    const size_t n = std::min(segment, in.size() - begin);
    const std::span<T> sum = memory.subspan(0, n), theirs = memory.subspan(segment, n);
    std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(begin), n, sum.begin());
    begin_reduction(sum, op);
    for (int distance = 1; distance < P; distance *= 2) {
      if (r % (2 * distance) != 0) {
        net.send<const T>(r - distance, sum);
        break;
      }
      if (r + distance < P) {
        net.recv(r + distance, theirs);
        reduce_into<T>(sum, theirs, op);
      }
    }
    if (r == 0) {
      finish_reduction(sum, op, P);
    }
    if (r == 0 && root != 0) {
      net.send<const T>(root, sum);
    } else if (r == root) {
      const std::span<T> result = out.subspan(begin, n);
      root == 0 ? static_cast<void>(std::copy(sum.begin(), sum.end(), result.begin())) : net.recv(0, result);
    }
  }
}

}  // namespace ringlet
