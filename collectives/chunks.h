// N elements cut into P chunks, one per rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace ringlet {

/// chunk[i] is a view of chunk i, i taken modulo P (also when negative). The first N mod P chunks are one element longer than
/// the rest; with N < P some are empty.
template <typename T>
class Chunks {
 public:
  Chunks(std::span<T> data, int parts) : data_(data), parts_(parts) {}

  std::span<T> operator[](int i) const {
    const auto index = static_cast<size_t>((i % parts_ + parts_) % parts_);
    return data_.subspan(index * shorter() + std::min(index, longer()), shorter() + (index < longer() ? 1 : 0));
  }
  size_t max_size() const { return shorter() + (longer() > 0 ? 1 : 0); }

 private:
  size_t shorter() const { return data_.size() / static_cast<size_t>(parts_); }  // the smaller size
  size_t longer() const { return data_.size() % static_cast<size_t>(parts_); }   // how many chunks have one more

  std::span<T> data_;
  int parts_;
};

}  // namespace ringlet
