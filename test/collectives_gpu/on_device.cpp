#include "test/collectives_gpu/on_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/scratch.h"

namespace ringlet::test {
namespace {

constexpr size_t kGuard = 64;  // bytes around the buffers
constexpr auto kPattern = std::byte{0xa5};

void delay(void* /*nothing*/) { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

// Where in one block the buffers are. In place stays in place.
struct Layout {
  explicit Layout(const Call& call) {
    const auto a = reinterpret_cast<uintptr_t>(call.in.data), b = reinterpret_cast<uintptr_t>(call.out.data);
    const size_t n = call.in.bytes(), m = call.out.bytes();
    if (n > 0 && m > 0 && a < b + m && b < a + n) {
      const uintptr_t begin = std::min(a, b);
      in = kGuard + (a - begin), out = kGuard + (b - begin);
      bytes = std::max(a + n, b + m) - begin + 2 * kGuard;
    } else {
      in = kGuard, out = in + n + 2 * kGuard - n % kGuard;
      bytes = out + m + kGuard;
    }
  }
  size_t in = 0, out = 0, bytes = 0;
};

class DeviceCopy {
 public:
  DeviceCopy(Gpu& gpu, Device device, const std::shared_ptr<Allocator>& memory, const Call& call)
      : gpu_(gpu),
        made_(call),
        call_(call),
        layout_(call),
        before_(layout_.bytes, kPattern),
        upload_(memory, layout_.bytes),
        block_(memory, layout_.bytes) {
    copy_bytes(call.in.data, before_.data() + layout_.in, call.in.bytes());
    std::byte* const begin = block_.first(0).data();
    gpu_.copy(upload_.first(0).data(), before_.data(), before_.size());
    cudaLaunchHostFunc(cudaStreamPerThread, delay, nullptr);
    gpu_.copy(begin, upload_.first(0).data(), before_.size());
    call_.in.data = call.in.count > 0 ? begin + layout_.in : nullptr;
    call_.out.data = call.out.count > 0 ? begin + layout_.out : nullptr;
    call_.in.device = call_.out.device = device;
  }
  const Call& call() const { return call_; }
  void give_back() {
    std::vector<std::byte> after(layout_.bytes);
    gpu_.copy(after.data(), block_.first(0).data(), after.size());
    copy_bytes(after.data() + layout_.out, made_.out.data, made_.out.bytes());
    if (made_.operation == Operation::ReduceScatter || made_.operation == Operation::ReduceScatterV) {
      return;  // in place, the other pieces are unspecified
    }
    for (size_t i = 0; i < after.size(); ++i) {
      const bool is_output = i >= layout_.out && i < layout_.out + made_.out.bytes();
      check(is_output || after[i] == before_[i], "{} #{}: wrote {} bytes from the beginning of its output, which has {}",
            made_.operation, made_.sequence, static_cast<int64_t>(i) - static_cast<int64_t>(layout_.out), made_.out.bytes());
    }
  }

 private:
  static void copy_bytes(const void* from, void* to, size_t n) {
    if (n > 0) {
      std::memcpy(to, from, n);
    }
  }

  Gpu& gpu_;
  Call made_, call_;
  Layout layout_;
  std::vector<std::byte> before_;
  Scratch<std::byte> upload_, block_;
};

class DeviceWork final : public Work::Pending {
 public:
  DeviceWork(std::unique_ptr<DeviceCopy> copy, Work work) : copy_(std::move(copy)), work_(std::move(work)) {}
  bool done() override { return work_.done(); }
  void wait() override {
    work_.wait();
    copy_->give_back();
  }

 private:
  std::unique_ptr<DeviceCopy> copy_;
  Work work_;
};

class OnDevice final : public Communicator {
 public:
  OnDevice(std::unique_ptr<Communicator> inner, Gpu& gpu, Device device, std::shared_ptr<Allocator> memory)
      : Communicator(inner->rank(), inner->size(), inner->group(), inner->sequence()),
        inner_(std::move(inner)),
        gpu_(gpu),
        device_(device),
        memory_(std::move(memory)) {}
  std::string_view name() const override { return inner_->name(); }
  std::string_view transport() const override { return inner_->transport(); }

  void run(const Call& call) override {
    check_host_memory(call, "test");
    if (!has_buffers(call.operation)) {
      return inner_->run(call);
    }
    DeviceCopy copy(gpu_, device_, memory_, call);
    inner_->run(copy.call());
    copy.give_back();
  }
  Work start(const Call& call) override {
    check_host_memory(call, "test");
    if (!has_buffers(call.operation)) {
      return inner_->start(call);
    }
    auto copy = std::make_unique<DeviceCopy>(gpu_, device_, memory_, call);
    Work work = inner_->start(copy->call());
    return Work(std::make_unique<DeviceWork>(std::move(copy), std::move(work)));
  }
  std::unique_ptr<Communicator> do_split(int color, int key) override {
    std::unique_ptr<Communicator> part = inner_->do_split(color, key);
    return part == nullptr ? nullptr : std::make_unique<OnDevice>(std::move(part), gpu_, device_, memory_);
  }

 private:
  std::unique_ptr<Communicator> inner_;
  Gpu& gpu_;
  Device device_;
  std::shared_ptr<Allocator> memory_;
};

}  // namespace

std::unique_ptr<Communicator> make_on_device(std::unique_ptr<Communicator> inner, Gpu& gpu, int device) {
  return std::make_unique<OnDevice>(std::move(inner), gpu, Device{Device::Kind::Cuda, device},
                                    std::make_shared<Allocator>(gpu.memory(device)));
}

}  // namespace ringlet::test
