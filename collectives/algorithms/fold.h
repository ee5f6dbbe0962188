// The fold of algorithms that need a power of two of ranks (Rabenseifner, "Optimization of collective reduction operations", 2004):
// with 2^k ranks and e more, the first 2e form pairs. Of a pair the odd rank hands all it has to the even one, sits out, and is
// told the result.                                                     T grows by 2α + 2N·β + N·γ where e > 0
// It joins neighbours first and leaves the rest alone: not order T in general.
#pragma once

#include <bit>

#include "collectives/algorithms/swap_and_combine.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// The ranks that stay, numbered 0 … ranks − 1.
struct Fold {
  int ranks;  // 2^k
  int extra;  // e
  int me;     // my number among them, −1 when I sit out

  Fold(int P, int r) : ranks(static_cast<int>(std::bit_floor(static_cast<unsigned>(P)))), extra(P - ranks) {
    const bool paired = r < 2 * extra;
    me = !paired ? r - extra : r % 2 == 0 ? r / 2 : -1;
  }
  int rank_of(int number) const { return number < extra ? 2 * number : number + extra; }
  bool stays() const { return me >= 0; }
  bool paired(int r) const { return r < 2 * extra; }
};

/// What the odd rank of a pair has is added to the even one's.
template <Reducible T>
void fold_in(PointToPoint& net, const Fold& fold, std::span<T> data, Reduction op) {
  const int r = net.rank();
  if (fold.paired(r)) {
    fold.stays() ? swap_and_combine<T>(net, r + 1, {}, data, op) : swap_and_combine<T>(net, r - 1, data, {}, op);
  }
}

/// The odd rank of a pair is told.
template <typename T>
void fold_out(PointToPoint& net, const Fold& fold, std::span<T> data) {
  const int r = net.rank();
  if (fold.paired(r)) {
    fold.stays() ? net.send<const T>(r + 1, data) : net.recv(r - 1, data);
  }
}

}  // namespace ringlet
