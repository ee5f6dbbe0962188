// Device memory for what waits to be summed.
#pragma once

#include <cstddef>
#include <memory>

#include "collectives/nccl/nccl_group.h"
#include "tensor/base/allocator.h"

namespace ringlet {

/// Memory of `device` for what waits to be summed, kept for the communicator's life: its stream orders every use.
class NcclInbox {
 public:
  NcclInbox(NcclGroup& group, Device device) : group_(group), device_(device) {}
  ~NcclInbox();
  NcclInbox(const NcclInbox&) = delete;
  NcclInbox& operator=(const NcclInbox&) = delete;

  /// Waits for the stream where it has to grow. From the allocator of the device that is current then.
  std::byte* at_least(size_t bytes);

 private:
  void give_back();

  NcclGroup& group_;
  Device device_;
  std::shared_ptr<Allocator> memory_{};
  std::byte* begin_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace ringlet
