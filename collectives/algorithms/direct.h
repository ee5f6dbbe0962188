// Direct exchange: everybody sends straight to the rank that needs it, all messages at once. No rank adds what another has
// added before, so the owner sums its P inputs in order T: the same bits at every P, and for bf16 one rounding.
// (Thakur, Rabenseifner & Gropp 2005 call the two halves pairwise exchange and spread-out; "one-shot" and "two-shot" are the
// names of the two all-reduces on GPUs with peer access.)
//
//   reduce_scatter   P−1 messages, (P−1)·n elements per rank            T ≈ α + (P−1)·n·β      n = N/P
//   all_gather       the same
//   all_reduce       two-shot = both: 2N·(P−1)/P, as few as the ring    T ≈ 2α + 2N·(P−1)/P·β
//                    one-shot: P−1 messages of N                        T ≈ α + (P−1)·N·β      for small N
//   reduce           the root receives P−1 messages of N
// α stands once because the P−1 messages of a step leave together; on a wire that takes one at a time it is P−1 of them.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithms/select.h"
#include "collectives/chunks.h"
#include "collectives/reduce.h"
#include "collectives/transports/point_to_point.h"

namespace ringlet {

/// Every rank sends piece(i) to rank i. out = reduction in order T of the P pieces addressed to this rank. `longest` is the
/// size of the longest piece of all, known to every rank. In segments, so that P−1 inboxes stay within kInboxBytes together.
/// `out` may be piece(r), or the whole of what every rank sends.
template <Reducible T, typename Piece>
void reduce_pieces(PointToPoint& net, const Piece& piece, size_t longest, std::span<T> out, Reduction op) {
  const int P = net.size(), r = net.rank();
  const size_t segment = std::min(longest, inbox_elements(sizeof(T), P));
  const Scratch<T> inbox = net.scratch<T>(std::min(segment, out.size()) * static_cast<size_t>(P - 1));
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  std::vector<const T*> inputs(static_cast<size_t>(P));  // by rank, which is the order of the sum
  for (size_t begin = 0; begin < longest; begin += segment) {
    const auto part = [&](auto whole) {
      const size_t from = std::min(begin, whole.size());
      return whole.subspan(from, std::min(segment, whole.size() - from));
    };
    const std::span<T> result = part(out);
    outgoing.clear();
    incoming.clear();
    for (int step = 1; step < P; ++step) {  // start with different peers, so that nobody is everybody's first
      const int to = (r + step) % P, from = (r + P - step) % P;
      if (const std::span<const T> theirs = part(piece(to)); !theirs.empty()) {
        outgoing.push_back({to, std::as_bytes(theirs)});
      }
      if (!result.empty()) {
        const std::span<T> box = inbox.subspan(incoming.size() * result.size(), result.size());
        incoming.push_back({from, std::as_writable_bytes(box)});
        inputs[static_cast<size_t>(from)] = box.data();
      }
    }
    net.transfer(outgoing, incoming);
    if (!result.empty()) {
      inputs[static_cast<size_t>(r)] = part(piece(r)).data();
      reduce_in_order<T>(inputs, result, op);
    }
  }
}

/// out = chunk r of the reduction of `full`. `out` may be chunk r of `full`.
template <Reducible T>
void direct_reduce_scatter(PointToPoint& net, std::span<const T> full, std::span<T> out, Reduction op) {
  const Chunks<const T> chunk(full, net.size());
  reduce_pieces(
      net, [&](int i) { return chunk[i]; }, chunk.max_size(), out, op);
}

/// chunk[r] goes to everybody; the other chunks come in.
template <typename Cut>
void gather_chunks(PointToPoint& net, const Cut& chunk) {
  const int P = net.size(), r = net.rank();
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int step = 1; step < P; ++step) {
    const int to = (r + step) % P, from = (r + P - step) % P;
    if (!chunk[r].empty()) {
      outgoing.push_back({to, std::as_bytes(chunk[r])});
    }
    if (!chunk[from].empty()) {
      incoming.push_back({from, std::as_writable_bytes(chunk[from])});
    }
  }
  net.transfer(outgoing, incoming);
}

/// Chunk r of `full` goes to everybody; the other chunks come in.
template <typename T>
void direct_all_gather(PointToPoint& net, std::span<T> full) {
  gather_chunks(net, Chunks<T>(full, net.size()));
}

/// Two-shot. `in` and `out` are the same memory or apart.
template <Reducible T>
void direct_all_reduce(PointToPoint& net, std::span<const T> in, std::span<T> out, Reduction op) {
  direct_reduce_scatter(net, in, Chunks<T>(out, net.size())[net.rank()], op);
  direct_all_gather(net, out);
}

/// One-shot: everybody sends everything to everybody and sums it all.
template <Reducible T>
void one_shot_all_reduce(PointToPoint& net, std::span<const T> in, std::span<T> out, Reduction op) {
  reduce_pieces(
      net, [&](int) { return in; }, in.size(), out, op);
}

/// out on `root`; elsewhere it is ignored.
template <Reducible T>
void direct_reduce(PointToPoint& net, std::span<const T> in, std::span<T> out, Reduction op, int root) {
  const auto piece = [&](int i) { return i == root ? in : std::span<const T>(); };
  reduce_pieces(net, piece, in.size(), net.rank() == root ? out : std::span<T>(), op);
}

}  // namespace ringlet
