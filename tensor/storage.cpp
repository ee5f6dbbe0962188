#include "tensor/storage.h"

namespace ringlet {

Storage::Storage(size_t bytes, Category category, Device device)
    : owner_(Allocator::current()),
      data_(static_cast<std::byte*>(owner_->allocate(bytes, category))),
      bytes_(bytes),
      category_(category),
      device_(device) {}

Storage::~Storage() { owner_->deallocate(data_, bytes_, category_); }

}  // namespace ringlet
