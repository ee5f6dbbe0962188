#include "collectives/backends/shared_reduction.h"

#include <algorithm>
#include <vector>

#include "collectives/chunks.h"
#include "collectives/reduce.h"

namespace ringlet {
namespace {

constexpr size_t kShort = size_t{16} << 10;  // up to here P times the arithmetic is cheaper than a second phase

template <Reducible T>
class SharedReduction {
 public:
  SharedReduction(SharedStaging& shared, const Call& call)
      : shared_(shared),
        call_(call),
        P_(shared.size()),
        r_(shared.rank()),
        receives_(call.operation != Operation::Reduce || call.peer == r_),
        in_(static_cast<const T*>(call.in.data), static_cast<size_t>(call.in.count)),
        out_(receives_ ? static_cast<T*>(call.out.data) : nullptr, receives_ ? static_cast<size_t>(call.out.count) : 0),
        inputs_(static_cast<size_t>(P_)) {}

  void run() {
    if (call_.operation == Operation::ReduceScatter || call_.operation == Operation::ReduceScatterV) {
      return to_owners();
    }
    const bool few = P_ == 2 && shared_.goes_round() && SharedStaging::stays_in_caches(2 * in_.size_bytes());
    in_.size_bytes() <= kShort || few ? each_for_itself() : in_chunks();
  }

 private:
  struct Shown {
    SharedStaging::Turn turn;
    uint32_t phase;  // when all have
  };

  // The inputs of all ranks from `offset` of their staging on, in rank order; this rank's own is `mine`.
  std::span<const T* const> inputs_at(SharedStaging::Turn turn, size_t offset, const T* mine) {
    for (int r = 0; r < P_; ++r) {
      inputs_[static_cast<size_t>(r)] = r == r_ ? mine : shared_.shown_by<T>(r, turn) + offset;
    }
    return inputs_;
  }
  std::span<const T> segment(size_t begin, size_t longest) const {
    return in_.subspan(begin, std::min(longest, in_.size() - begin));
  }

  // Everybody who receives reduces everything, of one segment while the next one is shown: for two ranks that is no more to be read
  // from each other than if each reduced a half.
  void each_for_itself() {
    const size_t longest = shared_.segment() / sizeof(T);
    const bool gives = call_.operation != Operation::Reduce || !receives_;
    const auto show = [&](size_t begin) {
      const std::span<const T> shown = segment(begin, longest);
      const auto turn = shared_.next(shown.size_bytes());
      if (gives) {
        shared_.show(turn, shown);
      }
      return Shown{turn, shared_.phases().arrive()};
    };
    Shown next = show(0);
    for (size_t begin = 0; begin < in_.size(); begin += longest) {
      const Shown shown = next;
      if (begin + longest < in_.size()) {
        next = show(begin + longest);
      }
      shared_.phases().wait(shown.phase);
      if (receives_) {
        const std::span<const T> mine = segment(begin, longest);
        reduce_in_order<T>(inputs_at(shown.turn, 0, mine.data()), out_.subspan(begin, mine.size()), call_.op);
      }
    }
  }

  // [snippet: in_chunks]
  // Rank r reduces chunk r of every segment and shows the result to the others. The results of a segment are collected after the
  // next one has been shown, so that nobody waits for the slowest reduction with empty hands.
  void in_chunks() {
    const size_t longest = shared_.segment() / sizeof(T);
    Shown next = show_to_owners(segment(0, longest));
    for (size_t begin = 0; begin < in_.size(); begin += longest) {
      const Shown shown = next;
      shared_.phases().wait(shown.phase);
      const Chunks<const T> chunk(segment(begin, longest), P_);
      T* const result = shared_.result<T>(shown.turn);
      const auto offset = [&](int r) { return static_cast<size_t>(chunk[r].data() - chunk[0].data()); };
      const auto collect = [&](int r) {
        if (receives_) {
          shared_.take(result + offset(r), out_.subspan(begin + offset(r), chunk[r].size()));
        }
      };
      reduce_in_order<T>(inputs_at(shown.turn, offset(r_), chunk[r_].data()), {result + offset(r_), chunk[r_].size()},
                         call_.op);
      collect(r_);
      const uint32_t finished = shared_.phases().arrive();
      if (begin + longest < in_.size()) {
        next = show_to_owners(segment(begin + longest, longest));
      }
      shared_.phases().wait(finished);
      for (int k = 1; k < P_; ++k) {
        collect((r_ + k) % P_);
      }
    }
  }
  // [/snippet]
  Shown show_to_owners(std::span<const T> segment) {
    const auto turn = shared_.next(segment.size_bytes());
    const Chunks<const T> chunk(segment, P_);
    for (int k = 1; k < P_; ++k) {
      const std::span<const T> theirs = chunk[(r_ + k) % P_];
      shared_.show(turn, theirs, static_cast<size_t>(theirs.data() - segment.data()));
    }
    return {turn, shared_.phases().arrive()};
  }

  // Of every shard the same segment: each owner then finds its part of all inputs.
  void to_owners() {
    std::vector<size_t> first(static_cast<size_t>(P_) + 1, 0);  // of every shard
    size_t most = 0;
    for (size_t r = 0; r < static_cast<size_t>(P_); ++r) {
      const auto count = static_cast<size_t>(call_.counts.empty() ? call_.out.count : call_.counts[r]);
      first[r + 1] = first[r] + count;
      most = std::max(most, count);
    }
    constexpr size_t kLine = SharedStaging::kLine / sizeof(T);
    const auto parts = static_cast<size_t>(P_);
    const size_t longest = shared_.segment() / sizeof(T) / parts / kLine * kLine;
    for (size_t begin = 0; begin < most; begin += longest) {
      const auto part = [&](int r) {
        const auto index = static_cast<size_t>(r);
        const size_t from = std::min(first[index] + begin, first[index + 1]);
        return in_.subspan(from, std::min(longest, first[index + 1] - from));
      };
      const size_t slot = (std::min(longest, most - begin) + kLine - 1) / kLine * kLine;  // by owner
      const auto turn = shared_.next(parts * slot * sizeof(T));
      for (int k = 1; k < P_; ++k) {
        const int r = (r_ + k) % P_;
        shared_.show(turn, part(r), static_cast<size_t>(r) * slot);
      }
      shared_.phases().meet();
      if (const std::span<const T> mine = part(r_); !mine.empty()) {
        reduce_in_order<T>(inputs_at(turn, static_cast<size_t>(r_) * slot, mine.data()), out_.subspan(begin, mine.size()),
                           call_.op);
      }
    }
  }

  SharedStaging& shared_;
  const Call& call_;
  int P_, r_;
  bool receives_;
  std::span<const T> in_;
  std::span<T> out_;
  std::vector<const T*> inputs_;
};

}  // namespace

void reduce_through(SharedStaging& shared, const Call& call) {
  dispatch_all(call.in.dtype, [&]<typename T>() { SharedReduction<T>(shared, call).run(); });
}

}  // namespace ringlet
