#include "collectives/backends/staged.h"

#include <algorithm>
#include <utility>

#include "collectives/scratch.h"

namespace ringlet {
namespace {

constexpr size_t kAlignment = 64;

bool on_device(const ConstBuffer& buffer) { return buffer.device.kind == Device::Kind::Cuda && buffer.count > 0; }
size_t device_bytes(const ConstBuffer& buffer) { return on_device(buffer) ? buffer.bytes() : 0; }

// Where in one block of host memory the buffers' copies are. In place stays in place.
struct Layout {
  size_t in, out, bytes;
};
Layout layout_of(const Call& call) {
  const ConstBuffer in = call.in, out = call.out;
  const auto a = reinterpret_cast<uintptr_t>(in.data), b = reinterpret_cast<uintptr_t>(out.data);
  if (on_device(in) && on_device(out) && a < b + out.bytes() && b < a + in.bytes()) {
    const uintptr_t begin = std::min(a, b), end = std::max(a + in.bytes(), b + out.bytes());
    return {a - begin, b - begin, end - begin};
  }
  const size_t behind = (device_bytes(in) + kAlignment - 1) / kAlignment * kAlignment;
  return {0, behind, behind + device_bytes(out)};
}

// A call with its device buffers on the host. One stream orders all copies from and to the memory, so that it may be used again as
// soon as the last copy is queued, if the host synchronises before it touches it.
class HostCopy {
 public:
  // The inputs are there when this returns.
  HostCopy(Gpu& gpu, const std::shared_ptr<Allocator>& pinned, const Call& call)
      : gpu_(gpu), made_(call), call_(call), layout_(layout_of(call)), memory_(pinned, layout_.bytes) {
    std::byte* const begin = memory_.first(0).data();
    if (on_device(call.in)) {
      gpu_.start_copy(begin + layout_.in, call.in.data, call.in.bytes());
      call_.in.data = begin + layout_.in;
    }
    if (on_device(call.out)) {
      call_.out.data = begin + layout_.out;
    }
    call_.in.device = call_.out.device = {};
    call_.stands_for = &made_;
    gpu_.synchronize();
  }
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;

  const Call& call() const { return call_; }
  void give_back() {
    if (on_device(made_.out)) {
      gpu_.start_copy(made_.out.data, call_.out.data, call_.out.bytes());
    }
  }

 private:
  Gpu& gpu_;
  Call made_;  // by the caller
  Call call_;  // on the host
  Layout layout_;
  Scratch<std::byte> memory_;
};

class StagedWork final : public Work::Pending {
 public:
  StagedWork(std::unique_ptr<HostCopy> copy, Work work) : copy_(std::move(copy)), work_(std::move(work)) {}
  bool done() override { return work_.done(); }
  void wait() override {
    work_.wait();
    copy_->give_back();
  }

 private:
  std::unique_ptr<HostCopy> copy_;
  Work work_;  // ends before the memory it works on
};

bool needs_copies(const Call& call) {
  return call.in.device.kind == Device::Kind::Cuda || call.out.device.kind == Device::Kind::Cuda;
}

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(std::unique_ptr<Communicator> inner, std::shared_ptr<Staging> staging)
      : Communicator(inner->rank(), inner->size(), inner->group(), inner->sequence()),
        inner_(std::move(inner)),
        staging_(std::move(staging)) {}

  std::string_view name() const override { return inner_->name(); }
  std::string_view transport() const override { return inner_->transport(); }
  std::string transport_details() const override { return inner_->transport_details(); }
  std::shared_ptr<Arena> arena() const override { return inner_->arena(); }
  std::optional<Moved> moved() const override { return inner_->moved(); }
  int64_t held_bytes() const override { return inner_->held_bytes(); }
  const CommError* failure() const override { return inner_->failure(); }
  int64_t scratch_bytes(const Call& call) const override {
    return call.device().kind == Device::Kind::Cpu ? inner_->scratch_bytes(call) : 0;
  }

  void look_after_peers() override { inner_->look_after_peers(); }
  void run(const Call& call) override { staging_->run(*inner_, call); }
  Work start(const Call& call) override { return staging_->start(*inner_, call); }
  std::unique_ptr<Communicator> do_split(int color, int key) override {
    std::unique_ptr<Communicator> part = inner_->do_split(color, key);
    return part == nullptr ? nullptr : std::make_unique<StagedCommunicator>(std::move(part), staging_);
  }

 private:
  std::unique_ptr<Communicator> inner_;
  std::shared_ptr<Staging> staging_;
};

}  // namespace

Staging::Staging(Gpu& gpu) : gpu_(gpu), pinned_(std::make_shared<Allocator>(gpu.pinned())) {}

Staging::~Staging() {
  try {
    gpu_.synchronize();
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor cannot report
  }
}

void Staging::run(Communicator& inner, const Call& call) {
  if (!needs_copies(call)) {
    return inner.run(call);
  }
  HostCopy copy(gpu_, pinned_, call);
  inner.run(copy.call());
  copy.give_back();
}

Work Staging::start(Communicator& inner, const Call& call) {
  if (!needs_copies(call)) {
    return inner.start(call);
  }
  auto copy = std::make_unique<HostCopy>(gpu_, pinned_, call);
  Work work = inner.start(copy->call());
  return Work(std::make_unique<StagedWork>(std::move(copy), std::move(work)));
}

std::unique_ptr<Communicator> make_staged(std::unique_ptr<Communicator> inner, Gpu& gpu) {
  return std::make_unique<StagedCommunicator>(std::move(inner), std::make_shared<Staging>(gpu));
}

}  // namespace ringlet
