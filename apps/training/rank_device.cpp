#include "apps/training/rank_device.h"

#include <utility>

#include "apps/training/failure.h"
#include "collectives/backends/mpi.h"
#include "collectives/backends/staged.h"
#include "tensor/base/gpu.h"

namespace ringlet {

RankDevice::RankDevice(const std::string& name, Communicator& world) {
  if (name == "cpu") {
    return;
  }
  agree(world, [&] { take(place_on_host().rank % gpu().device_count()); });
}

RankDevice::RankDevice(const std::string& name) {
  if (name != "cpu") {
    take(0);
  }
}

void RankDevice::take(int index) {
  gpu().use(index);
  scope_ = std::make_unique<AllocatorScope>(std::make_shared<Allocator>(gpu().memory(index)));
}

void allow_tf32_if(bool asked) {
  if (asked) {
    gpu().allow_tf32(true);
  }
}

std::string device_text() {
  const Device device = Allocator::current()->device();
  return device == Device{} ? to_text(device) : message("{}, {}", device, gpu().description(device.index));
}

std::unique_ptr<Communicator> carrying_device_memory(std::unique_ptr<Communicator> inner) {
  return Allocator::current()->device() == Device{} ? std::move(inner) : make_staged(std::move(inner), gpu());
}

}  // namespace ringlet
