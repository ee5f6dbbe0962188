// A tensor kept for backward, with a seal on its content. The seal sees every call that gives access for writing, not what is
// written later through a pointer that was taken before the tensor was saved.
#pragma once

#include <utility>

#include "tensor/tensor.h"

namespace ringlet {

// [snippet: saved]
/// Remembers the version of the storage at the time of saving; reading it after the storage was written to is an Error instead
/// of a wrong gradient.
class Saved {
 public:
  Saved() = default;
  Saved(Tensor tensor) : tensor_(std::move(tensor)), version_(tensor_.version()) {}  // NOLINT: implicit by design

  bool defined() const { return tensor_.defined(); }
  const Tensor& get() const {
    check(tensor_.version() == version_,
          "backward: a tensor of shape {} that was saved for backward has been changed in place (version {}, saved at {}); "
          "change a clone instead",
          tensor_.shape(), tensor_.version(), version_);
    return tensor_;
  }
  operator const Tensor&() const { return get(); }  // NOLINT: implicit by design

 private:
  Tensor tensor_;
  uint64_t version_ = 0;
};
// [/snippet]

}  // namespace ringlet
