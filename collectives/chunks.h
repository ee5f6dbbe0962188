// N elements cut into P chunks, one per rank: equal ones, or of given sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace ringlet {

/// chunk[i] is a view of chunk i, i taken modulo P (also when negative). The first N mod P chunks are one element longer than
/// the rest; with N < P some are empty.
template <typename T>
class Chunks {
 public:
  Chunks(std::span<T> data, int parts) : data_(data), parts_(parts) {}

  std::span<T> operator[](int i) const {
    const int index = (i % parts_ + parts_) % parts_;
    return between(index, index + 1);
  }
  /// Chunks begin … end − 1, which are neighbours; 0 ≤ begin ≤ end ≤ P.
  std::span<T> between(int begin, int end) const { return data_.subspan(offset(begin), offset(end) - offset(begin)); }
  size_t max_size() const { return shorter() + (longer() > 0 ? 1 : 0); }

 private:
  size_t offset(int i) const { return static_cast<size_t>(i) * shorter() + std::min(static_cast<size_t>(i), longer()); }
  size_t shorter() const { return data_.size() / static_cast<size_t>(parts_); }  // the smaller size
  size_t longer() const { return data_.size() % static_cast<size_t>(parts_); }   // how many chunks have one more

  std::span<T> data_;
  int parts_;
};

/// part[i] is a view of part i: counts[i] times `unit` elements, behind the parts before it. `counts` is borrowed.
template <typename T>
class Parts {
 public:
  Parts(std::span<T> data, std::span<const int64_t> counts, size_t unit = 1) : data_(data), counts_(counts), unit_(unit) {}

  std::span<T> operator[](int i) const {
    const auto before = counts_.first(static_cast<size_t>(i));
    return data_.subspan(elements(std::accumulate(before.begin(), before.end(), int64_t{0})),
                         elements(counts_[static_cast<size_t>(i)]));
  }
  size_t max_size() const { return elements(*std::max_element(counts_.begin(), counts_.end())); }

 private:
  size_t elements(int64_t count) const { return static_cast<size_t>(count) * unit_; }

  std::span<T> data_;
  std::span<const int64_t> counts_;
  size_t unit_;
};

}  // namespace ringlet
