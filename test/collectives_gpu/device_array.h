// n elements of device memory, with which tests speak of values.
#pragma once

#include <vector>

#include "collectives/buffer.h"
#include "collectives/scratch.h"
#include "tensor/base/gpu.h"

namespace ringlet::test {

template <typename T>
class DeviceArray {
 public:
  DeviceArray(const std::vector<T>& values, int device)
      : device_{Device::Kind::Cuda, device}, memory_(Allocator::on(device_), values.size()) {
    gpu().copy(data(), values.data(), values.size() * sizeof(T));
  }
  Buffer buffer() const { return {data(), static_cast<int64_t>(memory_.size()), dtype_of<T>, device_}; }
  std::vector<T> values() const {
    std::vector<T> all(memory_.size());
    gpu().copy(all.data(), data(), all.size() * sizeof(T));
    return all;
  }

 private:
  T* data() const { return memory_.first(0).data(); }
  Device device_;
  Scratch<T> memory_;
};

}  // namespace ringlet::test
