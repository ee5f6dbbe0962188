#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/kernels/cpu/copy.h"

namespace ringlet {

Tensor::Tensor(std::shared_ptr<Storage> storage, const Shape& shape, const Shape& strides, int64_t offset, DType dtype)
    : storage_(std::move(storage)), shape_(shape), strides_(strides), offset_(offset), numel_(shape.numel()), dtype_(dtype) {}

Tensor Tensor::empty(const Shape& shape, DType dtype, Category category) {
  int64_t bytes = 0;
  check(!__builtin_mul_overflow(shape.numel(), static_cast<int64_t>(size_of(dtype)), &bytes),
        "Tensor::empty: more bytes than an int64 can count, {} of {}", shape, dtype);
  return {std::make_shared<Storage>(static_cast<size_t>(bytes), category), shape, shape.contiguous_strides(), 0, dtype};
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Category category) {
  Tensor made = empty(shape, dtype, category);
  if (made.numel() > 0) {
    std::memset(made.storage_->data(), 0, made.storage_->bytes());
  }
  return made;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Category category) {
  Tensor made = empty(shape, dtype, category);
  made.fill(value);
  return made;
}

bool Tensor::is_contiguous() const {
  int64_t step = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape_[i] != 1 && strides_[i] != step) {
      return numel_ == 0;
    }
    step *= shape_[i];
  }
  return true;
}

void Tensor::require_contiguous(std::string_view who) const {
  check(is_contiguous(), "Tensor::{}: needs contiguous elements, got shape {} with strides {}; call contiguous() first", who,
        shape_, strides_);
}

void Tensor::require_bytes() const {
  check(defined(), "Tensor: undefined, it has no elements");
  check(!storage_->released(),
        "Tensor: its storage is released, got a read or write of shape {}; a sharded parameter has its elements "
        "while its layer computes, or while it is summoned",
        shape_);
}

const std::byte* Tensor::raw_data() const {
  require_bytes();
  return storage_->data() + offset_ * static_cast<int64_t>(size_of(dtype_));
}

std::byte* Tensor::mutable_raw_data() {
  require_bytes();
  storage_->bump_version();
  return storage_->data() + offset_ * static_cast<int64_t>(size_of(dtype_));
}

void Tensor::release_storage() {
  check(defined(), "Tensor: undefined, it has no storage");
  storage_->release();
}

std::byte* Tensor::refill_storage(bool changed) {
  check(defined(), "Tensor: undefined, it has no storage");
  storage_->refill();
  if (changed) {
    storage_->bump_version();
  }
  return storage_->data() + offset_ * static_cast<int64_t>(size_of(dtype_));
}

const std::byte* Tensor::raw(DType wanted) const {
  check(wanted == dtype_, "Tensor::data: asked for {}, dtype is {}", wanted, dtype_);
  return raw_data();
}

std::byte* Tensor::mutable_raw(DType wanted) {
  check(wanted == dtype_, "Tensor::mutable_data: asked for {}, dtype is {}", wanted, dtype_);
  return mutable_raw_data();
}

double Tensor::item() const {
  check(numel_ == 1, "Tensor::item: needs exactly one element, got shape {}", shape_);
  return at(0);
}

double Tensor::at(int64_t i) const {
  check(i >= 0 && i < numel_, "Tensor::at: index {} of {} elements", i, numel_);
  int64_t position = 0;
  for (int d = rank() - 1; d >= 0; --d) {
    position += i % shape_[d] * strides_[d];
    i /= shape_[d];
  }
  return dispatch_all(dtype_, [&]<typename T>() { return static_cast<double>(data<T>()[position]); });
}

std::vector<double> Tensor::to_vector() const {
  std::vector<double> values(static_cast<size_t>(numel_));
  for (int64_t i = 0; i < numel_; ++i) {
    values[static_cast<size_t>(i)] = at(i);
  }
  return values;
}

Tensor Tensor::view(const Shape& shape) const {
  require_contiguous("view");
  Shape wanted = shape;
  int64_t known = 1;
  int open = -1;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1) {
      check(open < 0, "Tensor::view: at most one extent may be -1, got {}", shape);
      open = i;
    } else {
      known *= shape[i];
    }
  }
  if (open >= 0) {
    check(known > 0 && numel_ % known == 0, "Tensor::view: {} elements cannot be seen as {}", numel_, shape);
    wanted[open] = numel_ / known;
  }
  check(wanted.numel() == numel_, "Tensor::view: {} elements cannot be seen as {}", numel_, shape);
  return {storage_, wanted, wanted.contiguous_strides(), offset_, dtype_};
}

Tensor Tensor::transpose(int dim0, int dim1) const {
  Shape shape = shape_, strides = strides_;
  std::swap(shape[dim0], shape[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return {storage_, shape, strides, offset_, dtype_};
}

Tensor Tensor::permute(std::initializer_list<int> order) const {
  check(static_cast<int>(order.size()) == rank(), "Tensor::permute: {} dims named for shape {}", order.size(), shape_);
  Shape shape = shape_, strides = strides_;
  uint32_t seen = 0;
  int i = 0;
  for (const int dim : order) {
    check(dim >= 0 && dim < rank() && (seen >> dim & 1U) == 0, "Tensor::permute: dim {} is out of range or named twice", dim);
    seen |= 1U << dim;
    shape[i] = shape_[dim];
    strides[i++] = strides_[dim];
  }
  return {storage_, shape, strides, offset_, dtype_};
}

Tensor Tensor::narrow(int dim, int64_t start, int64_t length) const {
  check(start >= 0 && length >= 0 && start <= shape_[dim] - length,
        "Tensor::narrow: {} entries from {} on, of dim {} of shape {}", length, start, dim, shape_);
  return {storage_, shape_.with(dim, length), strides_, offset_ + start * strides_[dim], dtype_};
}

Tensor Tensor::expand(const Shape& shape) const {
  check(broadcast_shapes("Tensor::expand", shape_, shape) == shape, "Tensor::expand: {} cannot be stretched to {}", shape_,
        shape);
  return {storage_, shape, broadcast_strides(shape_, strides_, shape), offset_, dtype_};
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::reshape(const Shape& shape) const { return contiguous().view(shape); }

Tensor Tensor::clone(Category category) const { return to(dtype_, category); }

Tensor Tensor::to(DType dtype, Category category) const {
  Tensor copy = empty(shape_, dtype, category);
  copy.copy_from(*this);
  return copy;
}

void Tensor::fill(double value) {
  dispatch_all(dtype_, [&]<typename T>() {
    const T element = static_cast<T>(value);
    if (is_contiguous()) {
      std::fill_n(mutable_data<T>(), numel_, element);
    } else {
      kernels::fill_strided(mutable_data<T>(), shape_, strides_, element);
    }
  });
}

void Tensor::copy_from(const Tensor& source) {
  check(source.shape() == shape_, "Tensor::copy_from: shapes differ, {} into {}", source.shape(), shape_);
  if (numel_ == 0) {
    return;
  }
  // A transpose of a matrix into itself would overwrite what it has yet to read.
  const bool overlapping = shares_storage(source) && !(strides_ == source.strides() && offset_ == source.offset());
  const Tensor from = overlapping ? source.clone() : source;
  const bool flat = is_contiguous() && from.is_contiguous();  // one run instead of one per row
  const Shape shape = flat ? Shape{numel_} : shape_, to_strides = flat ? Shape{1} : strides_;
  dispatch_all(dtype_, [&]<typename T>() {
    dispatch_all(from.dtype(), [&]<typename S>() {
      kernels::copy_strided(mutable_data<T>(), to_strides, from.data<S>(), flat ? Shape{1} : from.strides(), shape);
    });
  });
}

void check_shape(std::string_view who, const Tensor& tensor, const Shape& shape) {
  check(tensor.defined(), "{}: undefined tensor, shape must be {}", who, shape);
  check(tensor.shape() == shape, "{}: shape must be {}, got {}", who, shape, tensor.shape());
}

void check_dtype(std::string_view who, const Tensor& tensor, DType dtype) {
  check(tensor.defined(), "{}: undefined tensor, dtype must be {}", who, dtype);
  check(tensor.dtype() == dtype, "{}: dtype must be {}, got {}", who, dtype, tensor.dtype());
}

}  // namespace ringlet
