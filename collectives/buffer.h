// Memory lent to a collective for the length of a call: where it is, how many elements, of which type.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include "tensor/base/device.h"
#include "tensor/base/dtype.h"

namespace ringlet {

/// The six types that travel.
template <typename T>
concept Reducible = requires {
  DTypeOf<T>::value;
};

/// A contiguous range of one of the six: a vector, an array, a span.
template <typename R>
concept ElementRange =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && Reducible<std::ranges::range_value_t<R>>;

/// Borrowed, writable, contiguous. A strided view does not fit in here on purpose: copy it to contiguous memory first.
struct Buffer {
  void* data = nullptr;  // may be null when count is 0
  int64_t count = 0;     // elements
  DType dtype = DType::F32;
  Device device;

  Buffer() = default;
  Buffer(void* memory, int64_t elements, DType type, Device place = {})
      : data(memory), count(elements), dtype(type), device(place) {}
  template <typename R>
    requires ElementRange<R> && std::ranges::borrowed_range<R> &&
        (!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
            Buffer(R&& range)  // NOLINT(google-explicit-constructor): a span is a buffer
        : Buffer(std::ranges::data(range), static_cast<int64_t>(std::ranges::size(range)),
                 dtype_of<std::ranges::range_value_t<R>>) {}

    size_t bytes() const { return static_cast<size_t>(count) * size_of(dtype); }
    std::byte* begin() const { return static_cast<std::byte*>(data); }
    /// Elements [first, first + n).
    Buffer slice(int64_t first, int64_t n) const {
      return {begin() + static_cast<size_t>(first) * size_of(dtype), n, dtype, device};
    }
};

/// Borrowed and only read.
struct ConstBuffer {
  const void* data = nullptr;
  int64_t count = 0;
  DType dtype = DType::F32;
  Device device;

  ConstBuffer() = default;
  ConstBuffer(const void* memory, int64_t elements, DType type, Device place = {})
      : data(memory), count(elements), dtype(type), device(place) {}
  ConstBuffer(const Buffer& buffer)  // NOLINT(google-explicit-constructor)
      : ConstBuffer(buffer.data, buffer.count, buffer.dtype, buffer.device) {}
  template <typename R>
    requires ElementRange<R> ConstBuffer(R&& range)  // NOLINT(google-explicit-constructor)
        : ConstBuffer(std::ranges::data(range), static_cast<int64_t>(std::ranges::size(range)),
                      dtype_of<std::ranges::range_value_t<R>>) {}

    size_t bytes() const { return static_cast<size_t>(count) * size_of(dtype); }
    const std::byte* begin() const { return static_cast<const std::byte*>(data); }
    ConstBuffer slice(int64_t first, int64_t n) const {
      return {begin() + static_cast<size_t>(first) * size_of(dtype), n, dtype, device};
    }
};

}  // namespace ringlet
