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
    in_.size_bytes() <= kShort ? at_once() : in_chunks();
  }

 private:
  // The inputs of all ranks from `offset` of their staging on, in rank order; this rank's own is `mine`.
  std::span<const T* const> inputs_at(size_t offset, const T* mine) {
    for (int r = 0; r < P_; ++r) {
      inputs_[static_cast<size_t>(r)] = r == r_ ? mine : shared_.shown_by<T>(r) + offset;
    }
    return inputs_;
  }

  // Everybody who receives reduces everything.
  void at_once() {
    shared_.next();
    shared_.show(in_);
    shared_.phases().meet();
    if (receives_) {
      reduce_in_order<T>(inputs_at(0, in_.data()), out_, call_.op);
    }
  }

  // [snippet: in_chunks]
  // Rank r reduces chunk r of every segment and shows the result to the others. The results of a segment are collected after the
  // next one has been shown, so that nobody waits for the slowest reduction with empty hands.
  void in_chunks() {
    const size_t longest = shared_.segment() / sizeof(T);
    const auto segment = [&](size_t begin) { return in_.subspan(begin, std::min(longest, in_.size() - begin)); };
    uint32_t shown = show_to_owners(segment(0));
    for (size_t begin = 0; begin < in_.size(); begin += longest) {
      shared_.phases().wait(shown);
      const Chunks<const T> chunk(segment(begin), P_);
      T* const result = shared_.result<T>(shared_.set());
      const auto offset = [&](int r) { return static_cast<size_t>(chunk[r].data() - chunk[0].data()); };
      const auto collect = [&](int r) {
        if (receives_) {
          shared_.take(result + offset(r), out_.subspan(begin + offset(r), chunk[r].size()));
        }
      };
      reduce_in_order<T>(inputs_at(offset(r_), chunk[r_].data()), {result + offset(r_), chunk[r_].size()}, call_.op);
      collect(r_);
      const uint32_t finished = shared_.phases().arrive();
      if (begin + longest < in_.size()) {
        shown = show_to_owners(segment(begin + longest));
      }
      shared_.phases().wait(finished);
      for (int k = 1; k < P_; ++k) {
        collect((r_ + k) % P_);
      }
    }
  }
  // [/snippet]
  uint32_t show_to_owners(std::span<const T> segment) {
    shared_.next();
    const Chunks<const T> chunk(segment, P_);
    for (int k = 1; k < P_; ++k) {
      const std::span<const T> theirs = chunk[(r_ + k) % P_];
      shared_.show(theirs, static_cast<size_t>(theirs.data() - segment.data()));
    }
    return shared_.phases().arrive();
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
    const size_t longest = shared_.segment() / sizeof(T) / static_cast<size_t>(P_);
    for (size_t begin = 0; begin < most; begin += longest) {
      const auto part = [&](int r) {
        const auto index = static_cast<size_t>(r);
        const size_t from = std::min(first[index] + begin, first[index + 1]);
        return in_.subspan(from, std::min(longest, first[index + 1] - from));
      };
      shared_.next();
      for (int k = 1; k < P_; ++k) {
        const int r = (r_ + k) % P_;
        shared_.show(part(r), static_cast<size_t>(r) * longest);
      }
      shared_.phases().meet();
      if (const std::span<const T> mine = part(r_); !mine.empty()) {
        reduce_in_order<T>(inputs_at(static_cast<size_t>(r_) * longest, mine.data()), out_.subspan(begin, mine.size()),
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
