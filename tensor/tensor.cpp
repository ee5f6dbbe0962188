#include "tensor/tensor.h"

#include <cstring>
#include <utility>

#include "tensor/base/gpu.h"
#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

bool on_host(Device device) { return device.kind == Device::Kind::Cpu; }

size_t bytes_of(const Shape& shape, DType dtype) {
  int64_t bytes = 0;
  check(!__builtin_mul_overflow(shape.numel(), static_cast<int64_t>(size_of(dtype)), &bytes),
        "Tensor::empty: more bytes than an int64 can count, {} of {}", shape, dtype);
  return static_cast<size_t>(bytes);
}

void zero_bytes(Device device, void* to, size_t bytes) {
  if (bytes == 0) {
    return;
  }
  if (on_host(device)) {
    std::memset(to, 0, bytes);
  } else {
    gpu().zero(to, bytes);
  }
}

}  // namespace

Tensor::Tensor(std::shared_ptr<Storage> storage, const Shape& shape, const Shape& strides, int64_t offset, DType dtype)
    : storage_(std::move(storage)), shape_(shape), strides_(strides), offset_(offset), numel_(shape.numel()), dtype_(dtype) {}

Tensor Tensor::made(const Shape& shape, DType dtype, Category category, const std::shared_ptr<Allocator>& owner) {
  return {std::make_shared<Storage>(bytes_of(shape, dtype), category, owner), shape, shape.contiguous_strides(), 0, dtype};
}

Tensor Tensor::empty(const Shape& shape, DType dtype, Category category) {
  return made(shape, dtype, category, Allocator::current());
}

Tensor Tensor::empty(Device device, const Shape& shape, DType dtype, Category category) {
  return made(shape, dtype, category, Allocator::on(device));
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Category category) {
  Tensor made = empty(shape, dtype, category);
  zero_bytes(made.device(), made.storage_->data(), made.storage_->bytes());
  return made;
}

Tensor Tensor::zeros(Device device, const Shape& shape, DType dtype, Category category) {
  Tensor made = empty(device, shape, dtype, category);
  zero_bytes(device, made.storage_->data(), made.storage_->bytes());
  return made;
}

Tensor Tensor::deferred(const Shape& shape, DType dtype, Category category, Fill fill) {
  return {std::make_shared<Storage>(bytes_of(shape, dtype), category, std::move(fill)), shape, shape.contiguous_strides(), 0,
          dtype};
}

Tensor Tensor::from_bytes(const void* values, int64_t count, const Shape& shape, DType dtype) {
  check(count == shape.numel(), "Tensor::from: {} values for shape {}", count, shape);
  Tensor made = empty(shape, dtype);
  made.write_bytes(static_cast<const std::byte*>(values));
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

void Tensor::require_on_host(std::string_view who) const {
  require_contiguous(who);
  check(on_host(device()), "Tensor::{}: the host cannot read what lies on {}; copy it with to(Device{}) first", who, device(),
        "{}");
}

void Tensor::require_bytes() const {
  check(defined(), "Tensor: undefined, it has no elements");
  if (storage_->deferred()) {
    make_elements();
  }
  check(!storage_->released(),
        "Tensor: its storage is released, got a read or write of shape {}; a sharded parameter has its elements "
        "while its layer computes, or while it is summoned",
        shape_);
}

bool Tensor::is_whole_storage() const {
  return is_contiguous() && numel_ * static_cast<int64_t>(size_of(dtype_)) == static_cast<int64_t>(storage_->bytes());
}

void Tensor::make_elements() const {
  const Fill fill = storage_->begin();
  const Shape all{static_cast<int64_t>(storage_->bytes() / size_of(dtype_))};
  Tensor flat(storage_, all, all.contiguous_strides(), 0, dtype_);
  fill(flat);
}

const std::byte* Tensor::raw_data() const {
  require_bytes();
  return storage_->data() + offset_ * static_cast<int64_t>(size_of(dtype_));
}

std::byte* Tensor::mutable_raw_data() {
  require_bytes();
  require_own_elements();
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
  if (!on_host(device())) {
    return to(Device{}).at(i);
  }
  check(i >= 0 && i < numel_, "Tensor::at: index {} of {} elements", i, numel_);
  int64_t position = 0;
  for (int d = rank() - 1; d >= 0; --d) {
    position += i % shape_[d] * strides_[d];
    i /= shape_[d];
  }
  return dispatch_all(dtype_, [&]<typename T>() { return static_cast<double>(data<T>()[position]); });
}

std::vector<double> Tensor::to_vector() const {
  if (!on_host(device())) {
    return to(Device{}).to_vector();
  }
  std::vector<double> values(static_cast<size_t>(numel_));
  for (int64_t i = 0; i < numel_; ++i) {
    values[static_cast<size_t>(i)] = at(i);
  }
  return values;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::reshape(const Shape& shape) const { return contiguous().view(shape); }

Tensor Tensor::clone(Category category) const { return to(dtype_, category); }

Tensor Tensor::to(DType dtype, Category category) const {
  Tensor copy = empty(device(), shape_, dtype, category);
  copy.copy_from(*this);
  return copy;
}

Tensor Tensor::to(Device device, Category category) const {
  if (device == this->device()) {
    return *this;
  }
  Tensor copy = empty(device, shape_, dtype_, category);
  copy.copy_from(*this);
  return copy;
}

void Tensor::fill(double value) {
  if (numel_ > 0) {
    kernels::tables_on(device().kind).fill(dtype_, mutable_raw_data(), shape_, strides_, value);
  }
}

void Tensor::zero() {
  require_contiguous("zero");
  if (numel_ > 0) {
    zero_bytes(device(), mutable_raw_data(), static_cast<size_t>(bytes()));
  }
}

void Tensor::begin_with(Fill fill) {
  require_contiguous("begin_with");
  if (deferred()) {
    check(is_whole_storage(), "Tensor::begin_with: a deferred tensor begins as a whole, got a view of shape {}", shape_);
    storage_->defer(std::move(fill));
  } else {
    Tensor flat = view({numel_});
    fill(flat);
  }
}

void Tensor::read_bytes(std::byte* to) const {
  require_contiguous("read_bytes");
  if (numel_ > 0) {
    on_host(device()) ? static_cast<void>(std::memcpy(to, raw_data(), static_cast<size_t>(bytes())))
                      : gpu().copy(to, raw_data(), static_cast<size_t>(bytes()));
  }
}

void Tensor::write_bytes(const std::byte* from) {
  require_contiguous("write_bytes");
  if (numel_ > 0) {
    on_host(device()) ? static_cast<void>(std::memcpy(mutable_raw_data(), from, static_cast<size_t>(bytes())))
                      : gpu().copy(mutable_raw_data(), from, static_cast<size_t>(bytes()));
  }
}

void Tensor::copy_from(const Tensor& source) {
  check(source.shape() == shape_, "Tensor::copy_from: shapes differ, {} into {}", source.shape(), shape_);
  if (numel_ == 0) {
    return;
  }
  if (source.deferred() && source.is_whole_storage() && source.dtype() == dtype_ && is_contiguous() &&
      !shares_storage(source)) {
    Tensor flat = view({numel_});
    source.storage_->fill()(flat);
  } else if (source.device() == device()) {
    copy_within_device(source);
  } else {
    copy_across_devices(source);
  }
}

void Tensor::copy_within_device(const Tensor& source) {
  // A transpose of a matrix into itself would overwrite what it has yet to read.
  const bool overlapping = shares_storage(source) && !(strides_ == source.strides() && offset_ == source.offset());
  const Tensor from = overlapping ? source.clone() : source;
  const bool flat = is_contiguous() && from.is_contiguous();  // one run instead of one per row
  kernels::tables_on(device().kind)
      .copy_strided(dtype_, mutable_raw_data(), flat ? Shape{1} : strides_, from.dtype(), from.raw_data(),
                    flat ? Shape{1} : from.strides(), flat ? Shape{numel_} : shape_);
}

// Only contiguous bytes travel: the one side packs and converts, the other unpacks.
void Tensor::copy_across_devices(const Tensor& source) {
  const Tensor packed = source.dtype() == dtype_ ? source.contiguous() : source.to(dtype_);
  if (is_contiguous()) {
    gpu().copy(mutable_raw_data(), packed.raw_data(), static_cast<size_t>(bytes()));
    return;
  }
  Tensor arrived = empty(device(), shape_, dtype_);
  arrived.copy_across_devices(packed);
  copy_within_device(arrived);
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
