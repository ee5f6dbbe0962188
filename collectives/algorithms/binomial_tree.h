// Binomial tree (e.g. Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH", 2005):
// ⌈log2 P⌉ rounds, in each of which everybody who has the data hands it to one who has not; a reduction runs the same tree
// towards the root.                                                        T ≈ ⌈log2 P⌉·(α + N·β)
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/algorithms/select.h"
#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// data = data of `root`. Ranks are numbered from the root: v = (r − root) mod P; v's parent is v without its lowest bit.
template <typename T>
void binomial_tree_broadcast(PointToPoint& net, std::span<T> data, int root) {
  const int P = net.size();
  const int v = (net.rank() - root + P) % P;
  const int lowest = v == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(P))) : v & -v;
  if (v != 0) {
    net.recv((v - lowest + root) % P, data);
  }
  std::vector<Outgoing> children;
  for (int distance = lowest / 2; distance > 0; distance /= 2) {  // the largest subtree first: it has the longest way to go
    if (v + distance < P) {
      children.push_back({(v + distance + root) % P, std::as_bytes(data)});
    }
  }
  net.transfer(children, {});
}

/// out on `root` = reduction of `in`; elsewhere `out` is ignored. Rank r adds r + 1, r + 2, r + 4, … to itself in this order:
/// order T, for every P. It ends on rank 0, which passes it to `root`. In segments, so that the memory of inner nodes is bounded.
template <Reducible T>
void binomial_tree_reduce(PointToPoint& net, std::span<const T> in, std::span<T> out, Reduction op, int root) {
  const int P = net.size(), r = net.rank();
  const size_t segment = std::min(in.size(), inbox_elements<T>(2));
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
