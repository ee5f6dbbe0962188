#include "tensor/kernels/cuda/device_moment.h"

#include "tensor/kernels/cuda/launch.h"
#include "tensor/kernels/cuda/stream_wait.h"

namespace ringlet::kernels::cuda {
namespace {

class EventMoment final : public DeviceMoment {
 public:
  EventMoment() {
    check_cuda(cudaEventCreate(&event_), "cudaEventCreate");
    check_cuda(cudaEventRecord(event_, cudaStreamPerThread), "cudaEventRecord");
  }
  ~EventMoment() override { (void)cudaEventDestroy(event_); }
  EventMoment(const EventMoment&) = delete;
  EventMoment& operator=(const EventMoment&) = delete;

  double seconds_since(const DeviceMoment& earlier) const override {
    wait_for_stream();  // not for the event: who waits for a stream looks around (Gpu::watch)
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, dynamic_cast<const EventMoment&>(earlier).event_, event_),
               "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace

std::unique_ptr<DeviceMoment> mark_stream() { return std::make_unique<EventMoment>(); }

}  // namespace ringlet::kernels::cuda
