#include "apps/bench/harness/moment.h"

#include "tensor/base/allocator.h"

namespace ringlet {
namespace {

bool on_gpu() { return Allocator::current()->device() != Device{}; }

}  // namespace

Moment::Moment() : host_(std::chrono::steady_clock::now()), device_(on_gpu() ? gpu().mark() : nullptr) {}

double Moment::seconds_since(const Moment& earlier) const {
  return device_ != nullptr ? device_->seconds_since(*earlier.device_)
                            : std::chrono::duration<double>(host_ - earlier.host_).count();
}

void wait_for_device() {
  if (on_gpu()) {
    gpu().synchronize();
  }
}

}  // namespace ringlet
