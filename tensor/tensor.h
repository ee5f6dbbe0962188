// A tensor: a cheap shared handle to a strided view of a Storage. Copying a Tensor copies the handle, never the numbers.
//
// Which functions share memory and which copy is said by their names: `view`, `transpose`, `permute`, `narrow` are views;
// `clone` and `to` copy; `contiguous` and `reshape` copy only when they must.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "tensor/base/allocator.h"
#include "tensor/base/device.h"
#include "tensor/base/dtype.h"
#include "tensor/shape.h"
#include "tensor/storage.h"

namespace ringlet {

class Tensor {
 public:
  /// Undefined: no storage. Only `defined` may be asked of it.
  Tensor() = default;

  // Made anew, contiguous, from the current allocator, and so on its device; or on `device`, from the allocator that is current for
  // it. `empty` leaves the elements undefined.
  static Tensor empty(const Shape& shape, DType dtype = DType::F32, Category category = Category::Activations);
  static Tensor empty(Device device, const Shape& shape, DType dtype = DType::F32, Category category = Category::Activations);
  static Tensor zeros(Device device, const Shape& shape, DType dtype = DType::F32, Category category = Category::Activations);
  static Tensor zeros(const Shape& shape, DType dtype = DType::F32, Category category = Category::Activations);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::F32, Category category = Category::Activations);
  /// Takes no memory until an element is read or written through any view: then `fill` makes them all, in the memory of the allocator
  /// that was current here. Copied before that, it stays as it is, and `fill` writes to where the copy lies: so a model can be laid out
  /// and cut into pieces without ever being whole.
  static Tensor deferred(const Shape& shape, DType dtype, Category category, Fill fill);
  /// Copies `values`, whose number must be that of `shape`.
  template <typename T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <typename T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  template <typename T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from(std::span<const T>(values.begin(), values.size()), shape);
  }

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int i) const { return shape_[i]; }
  int64_t numel() const { return numel_; }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ == nullptr ? Device{} : storage_->device(); }
  int64_t bytes() const { return numel_ * static_cast<int64_t>(size_of(dtype_)); }
  /// Elements from the start of the storage to the first element of this view.
  int64_t offset() const { return offset_; }
  bool is_contiguous() const;
  /// Whether both handles look at the same storage.
  bool shares_storage(const Tensor& other) const { return defined() && storage_ == other.storage_; }
  uint64_t version() const { return storage_ == nullptr ? 0 : storage_->version(); }

  // Pointers are into the memory of `device`: those of a GPU are for kernels and copies, the host cannot follow them.
  /// First element, to read. Throws unless `T` is the dtype.
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(raw(dtype_of<T>));
  }
  /// First element, to write: counts as a change of the storage.
  template <typename T>
  T* mutable_data() {
    return reinterpret_cast<T*>(mutable_raw(dtype_of<T>));
  }
  /// All elements in order. Throws unless contiguous, and on the host.
  template <typename T>
  std::span<const T> span() const {
    require_on_host("span");
    return {data<T>(), static_cast<size_t>(numel_)};
  }
  template <typename T>
  std::span<T> mutable_span() {
    require_on_host("mutable_span");
    return {mutable_data<T>(), static_cast<size_t>(numel_)};
  }
  const std::byte* raw_data() const;
  std::byte* mutable_raw_data();

  // For sharded parameters, whose whole value is there only while it is used: a unit of FSDP.
  /// Gives the bytes of the storage back, under all its views. Reading or writing any of them is an `Error` until `refill_storage`.
  void release_storage();
  /// Brings bytes back and returns those of the first element, to be filled with what was there before: the version stays, so that what
  /// was saved for backward holds. With `changed` the content will be another, and the version grows.
  std::byte* refill_storage(bool changed);
  bool released() const { return storage_ != nullptr && storage_->released(); }
  bool deferred() const { return storage_ != nullptr && storage_->deferred(); }
  /// The only element, as a double. Throws unless there is exactly one. Waits for the device, as the next two do.
  double item() const;
  /// Element `i` in row-major order, as a double. For tests and messages: slow.
  double at(int64_t i) const;
  /// All elements in order as doubles. For tests and messages.
  std::vector<double> to_vector() const;

  // Views.
  /// The same elements under another shape; one extent may be -1. Throws unless contiguous.
  Tensor view(const Shape& shape) const;
  Tensor transpose(int dim0, int dim1) const;
  Tensor permute(std::initializer_list<int> order) const;
  /// `length` entries of `dim` from `start` on.
  Tensor narrow(int dim, int64_t start, int64_t length) const;
  /// Stretched to `shape` by strides of 0. To be read only: writing to it is an `Error`.
  Tensor expand(const Shape& shape) const;

  // Copies.
  /// This handle if contiguous, else a contiguous copy.
  Tensor contiguous() const;
  /// `view` if contiguous, else a copy in the new shape.
  Tensor reshape(const Shape& shape) const;
  Tensor clone(Category category = Category::Activations) const;
  /// On `device`: this handle if it is there already, else a contiguous copy. To the host: waits for the device.
  Tensor to(Device device, Category category = Category::Activations) const;
  /// Converted to `dtype` (a copy, also when it is the same).
  Tensor to(DType dtype, Category category = Category::Activations) const;

  // In place: they change the storage that this handle looks at.
  void fill(double value);
  /// Copies the elements of `source` (same shape, any strides, any device; the dtype is converted) into this view.
  void copy_from(const Tensor& source);
  /// All bits zero. Throws unless contiguous.
  void zero();
  /// The elements that `fill` writes: at once, or where they are deferred, in place of what they would have begun with. Throws unless
  /// contiguous; a deferred tensor only as a whole.
  void begin_with(Fill fill);
  /// The bytes of the elements into, or out of, `bytes()` bytes of host memory; waits for a device. Throws unless contiguous.
  void read_bytes(std::byte* to) const;
  void write_bytes(const std::byte* from);

 private:
  Tensor(std::shared_ptr<Storage> storage, const Shape& shape, const Shape& strides, int64_t offset, DType dtype);
  const std::byte* raw(DType wanted) const;
  std::byte* mutable_raw(DType wanted);
  void require_contiguous(std::string_view who) const;
  void require_on_host(std::string_view who) const;
  void copy_within_device(const Tensor& source);
  void copy_across_devices(const Tensor& source);
  static Tensor made(const Shape& shape, DType dtype, Category category, const std::shared_ptr<Allocator>& owner);
  static Tensor from_bytes(const void* values, int64_t count, const Shape& shape, DType dtype);
  void require_bytes() const;
  void require_own_elements() const;
  bool is_whole_storage() const;
  void make_elements() const;

  std::shared_ptr<Storage> storage_;
  Shape shape_;
  Shape strides_;
  int64_t offset_ = 0;
  int64_t numel_ = 0;
  DType dtype_ = DType::F32;
};

/// Throws `Error` unless `tensor` has this shape: "who: shape must be [..], got [..]".
void check_shape(std::string_view who, const Tensor& tensor, const Shape& shape);
void check_dtype(std::string_view who, const Tensor& tensor, DType dtype);

template <typename T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  return from_bytes(values.data(), static_cast<int64_t>(values.size()), shape, dtype_of<T>);
}

}  // namespace ringlet
