// A number that a device may still be computing.
#pragma once

#include <utility>

#include "tensor/tensor.h"

namespace ringlet {

/// Reads like a T; where it lies on a device, the first reading waits for it.
template <typename T>
class Later {
 public:
  Later(T value = {}) : value_(value) {}  // NOLINT(google-explicit-constructor): a number is one that is known already
  /// The only element of `scalar`. On the host it is read at once.
  explicit Later(Tensor scalar) : scalar_(std::move(scalar)) {
    if (scalar_.device() == Device{}) {
      read();
    }
  }
  operator T() const {  // NOLINT(google-explicit-constructor): it stands for a number
    if (scalar_.defined()) {
      read();
    }
    return value_;
  }
  /// One of its own: what it reads now stays when the memory that this one lies in is written anew. Waits for nothing.
  Later copy() const { return scalar_.defined() ? Later(scalar_.clone()) : Later(value_); }
  /// Writes it to where `other`, a copy of one like it that nobody has read, keeps its own. Waits for nothing, takes no memory.
  void copy_to(Later& other) const {
    if (scalar_.defined()) {
      other.scalar_.copy_from(scalar_);
    } else {
      other = value_;
    }
  }

 private:
  void read() const {
    value_ = static_cast<T>(scalar_.item());
    scalar_ = Tensor();
  }

  mutable T value_{};
  mutable Tensor scalar_;
};

}  // namespace ringlet
