#include "tensor/storage.h"

namespace ringlet {

Storage::Storage(size_t bytes, Category category, Device device)
    : owner_(Allocator::current()),
      data_(static_cast<std::byte*>(owner_->allocate(bytes, category))),
      bytes_(bytes),
      category_(category),
      device_(device) {}

Storage::~Storage() { release(); }

void Storage::release() {
  if (!released_) {
    owner_->deallocate(data_, bytes_, category_);
    data_ = nullptr;
    released_ = true;
  }
}

void Storage::refill() {
  if (released_) {
    data_ = static_cast<std::byte*>(owner_->allocate(bytes_, category_));
    released_ = false;
  }
}

}  // namespace ringlet
