#include "tensor/storage.h"

namespace ringlet {

Storage::Storage(size_t bytes, Category category, const std::shared_ptr<Allocator>& owner)
    : owner_(owner), data_(static_cast<std::byte*>(owner_->allocate(bytes, category))), bytes_(bytes), category_(category) {}

Storage::Storage(size_t bytes, Category category, Fill fill, const std::shared_ptr<Allocator>& owner)
    : owner_(owner), data_(nullptr), bytes_(bytes), category_(category), released_(true), fill_(std::move(fill)) {}

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
  fill_ = nullptr;
}

Fill Storage::begin() {
  Fill fill = std::move(fill_);
  refill();
  return fill;
}

}  // namespace ringlet
