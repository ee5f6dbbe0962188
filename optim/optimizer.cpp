#include "optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>

namespace ringlet {
namespace {

void check_slice(const ParamSlice& slice, DType dtype, Device device, size_t groups) {
  check(slice.value.defined() && slice.grad.defined(), "optimizer: {} needs a value and a gradient", slice.name);
  check(slice.value.dtype() == dtype && slice.grad.dtype() == dtype,
        "optimizer: all values and gradients must have one dtype, {}; {} has {} with a gradient of {}", dtype, slice.name,
        slice.value.dtype(), slice.grad.dtype());
  check(slice.value.device() == device && slice.grad.device() == device,
        "optimizer: all values and gradients must be on one device, {}; {} is on {} with a gradient on {}", device, slice.name,
        slice.value.device(), slice.grad.device());
  check(slice.value.numel() == slice.grad.numel(), "optimizer: {} has {} elements and a gradient of {}", slice.name,
        slice.value.numel(), slice.grad.numel());
  check(slice.value.is_contiguous() && slice.grad.is_contiguous(), "optimizer: {} and its gradient must be contiguous",
        slice.name);
  check(slice.group >= 0 && static_cast<size_t>(slice.group) < groups, "optimizer: {} is in group {}, but there are {} groups",
        slice.name, slice.group, groups);
}

// Sorted by address, overlapping slices are neighbours.
void check_disjoint(const std::vector<ParamSlice>& slices) {
  std::vector<const ParamSlice*> by_address;
  for (const ParamSlice& slice : slices) {
    if (slice.value.numel() > 0) {
      by_address.push_back(&slice);
    }
  }
  std::sort(by_address.begin(), by_address.end(),
            [](const ParamSlice* a, const ParamSlice* b) { return std::less<>()(a->value.raw_data(), b->value.raw_data()); });
  for (size_t i = 1; i < by_address.size(); ++i) {
    const Tensor& before = by_address[i - 1]->value;
    check(before.raw_data() + before.bytes() <= by_address[i]->value.raw_data(),
          "optimizer: {} and {} share elements, which would be updated twice; list each parameter once",
          by_address[i - 1]->name, by_address[i]->name);
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<ParamGroup> groups, std::vector<ParamSlice> slices, std::vector<std::string> state_kinds)
    : groups_(std::move(groups)), slices_(std::move(slices)), kinds_(std::move(state_kinds)) {
  if (!slices_.empty() && slices_.front().value.defined()) {
    dtype_ = slices_.front().value.dtype();
  }
  check(dtype_ == DType::F32 || dtype_ == DType::F64, "optimizer: updates f32 and f64, got {}; keep f32 master weights",
        dtype_);
  for (const ParamGroup& group : groups_) {
    check(group.weight_decay >= 0.0 && std::isfinite(group.weight_decay),
          "optimizer: weight decay must be finite and not negative, got {} for group {}", group.weight_decay, group.name);
  }
  int64_t total = 0;
  for (const ParamSlice& slice : slices_) {
    check_slice(slice, dtype_, device(), groups_.size());
    begin_.push_back(total);
    total += slice.value.numel();
  }
  check_disjoint(slices_);
  for (size_t kind = 0; kind < kinds_.size(); ++kind) {
    state_.push_back(Tensor::zeros(device(), {total}, dtype_, Category::Optimizer));
  }
}

void Optimizer::zero_grad() {
  for (ParamSlice& slice : slices_) {
    slice.grad.zero();
  }
}

void Optimizer::keep_bytes(const void* numbers, size_t bytes) {
  std::array<std::byte, kNumbersBytes> all{};
  std::memcpy(all.data(), numbers, bytes);
  if (!numbers_.defined()) {
    numbers_ = Tensor::empty(device(), {kNumbersBytes}, DType::U8, Category::Optimizer);
  }
  numbers_.write_bytes(all.data());
}

void Optimizer::set_updates(int64_t updates) {
  check(updates >= 0, "optimizer: completed updates must not be negative, got {}", updates);
  updates_ = updates;
}

Tensor Optimizer::state(size_t kind, size_t slice) const {
  check(kind < state_.size(), "optimizer: state {} of {} kinds", kind, state_.size());
  check(slice < slices_.size(), "optimizer: slice {} of {}", slice, slices_.size());
  return state_[kind].narrow(0, begin_[slice], slices_[slice].value.numel());
}

}  // namespace ringlet
