#include "collectives/backends/nccl_inbox.h"

namespace ringlet {

NcclInbox::~NcclInbox() {
  try {
    group_.synchronize();
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor cannot report
  }
  give_back();
}

void NcclInbox::give_back() {
  if (memory_ != nullptr) {
    memory_->deallocate(begin_, bytes_, Category::Communication);
  }
  begin_ = nullptr, bytes_ = 0;
}

std::byte* NcclInbox::at_least(size_t bytes) {
  if (bytes > bytes_) {
    group_.synchronize();
    give_back();
    memory_ = Allocator::on(device_);
    begin_ = static_cast<std::byte*>(memory_->allocate(bytes, Category::Communication));
    bytes_ = bytes;
  }
  return begin_;
}

}  // namespace ringlet
