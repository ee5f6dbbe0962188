// Many buffers in one call: packed into one, reduced, and unpacked. On a device the copies are queued like everything else.
#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "collectives/communicator.h"
#include "collectives/scratch.h"
#include "tensor/base/gpu.h"

namespace ringlet {
namespace {

// The buffers side by side in memory of the rank's own, where they are, with their counts. Alive until the call is done.
struct Packed {
  Packed(const std::shared_ptr<Allocator>& host, std::span<const Buffer> buffers)
      : parts(buffers.begin(), buffers.end()),
        counts(counts_of(buffers)),
        device(buffers.empty() ? Device() : buffers[0].device),
        bytes(device == Device() ? host : Allocator::on(device), total_bytes(buffers)) {
    check_apart(parts);
    std::byte* to = bytes.first(0).data();
    for (const Buffer& one : parts) {
      check(one.dtype == parts[0].dtype && one.device == device,
            "all_reduce: the buffers of one call must be alike, got {} on {} and {} on {}", parts[0].dtype, device, one.dtype,
            one.device);
      to = copy(one.data, to, one.bytes());
    }
  }

  Buffer whole() const {
    return parts.empty() ? Buffer() : Buffer(bytes.first(0).data(), bytes_as_elements(), parts[0].dtype, device);
  }
  void unpack() const {
    const std::byte* from = bytes.first(0).data();
    for (const Buffer& one : parts) {
      copy(from, one.begin(), one.bytes());
      from += one.bytes();
    }
  }

  std::vector<Buffer> parts;
  std::vector<int64_t> counts;
  Device device;
  Scratch<std::byte> bytes;

 private:
  std::byte* copy(const void* from, std::byte* to, size_t n) const {
    if (n > 0) {
      device == Device() ? void(std::memcpy(to, from, n)) : gpu().copy(to, from, n);
    }
    return to + n;
  }
  static constexpr int64_t kMostBytes = int64_t{1} << 47;  // of the address space: sums of them do not overflow
  static std::vector<int64_t> counts_of(std::span<const Buffer> buffers) {
    std::vector<int64_t> counts;
    for (const Buffer& one : buffers) {
      check(one.count >= 0 && (one.data != nullptr || one.count == 0),
            "all_reduce: a buffer is null or negative, got {} elements", one.count);
      check(one.count <= kMostBytes / static_cast<int64_t>(size_of(one.dtype)),
            "all_reduce: a buffer is larger than any memory, got {} elements", one.count);
      counts.push_back(one.count);
    }
    return counts;
  }
  // Each would be written with the sum of what all held: the elements that two share have no meaning.
  static void check_apart(std::vector<Buffer> buffers) {
    std::erase_if(buffers, [](const Buffer& one) { return one.count == 0; });
    std::sort(buffers.begin(), buffers.end(),
              [](const Buffer& a, const Buffer& b) { return std::less<>()(a.begin(), b.begin()); });
    for (size_t i = 1; i < buffers.size(); ++i) {
      const int64_t gap = buffers[i].begin() - buffers[i - 1].begin();
      check(gap >= static_cast<int64_t>(buffers[i - 1].bytes()),
            "all_reduce: the buffers of one call must not overlap, got one of {} bytes and another {} bytes behind its begin",
            buffers[i - 1].bytes(), gap);
    }
  }
  static size_t total_bytes(std::span<const Buffer> buffers) {
    size_t total = 0;
    for (const Buffer& one : buffers) {
      total += one.bytes();
    }
    return total;
  }
  int64_t bytes_as_elements() const { return static_cast<int64_t>(bytes.size() / size_of(parts[0].dtype)); }
};

class PackedWork final : public Work::Pending {
 public:
  PackedWork(std::unique_ptr<Packed> packed, Work work) : packed_(std::move(packed)), work_(std::move(work)) {}
  bool done() override { return work_.done(); }
  void wait() override {
    work_.wait();
    packed_->unpack();
  }

 private:
  std::unique_ptr<Packed> packed_;
  Work work_;  // ends before the memory it works on
};

Call call_of(const Packed& packed, Reduction op, CallSite site) {
  const Buffer whole = packed.whole();
  return {.operation = Operation::AllReduce, .in = whole, .out = whole, .op = op, .counts = packed.counts, .site = site};
}

}  // namespace

void Communicator::all_reduce(std::span<const Buffer> buffers, Reduction op, CallSite site) {
  const Packed packed(memory_, buffers);
  finish(call_of(packed, op, site));
  packed.unpack();
}

Work Communicator::start_all_reduce(std::span<const Buffer> buffers, Reduction op, CallSite site) {
  auto packed = std::make_unique<Packed>(memory_, buffers);
  Work work = begin(call_of(*packed, op, site));
  return Work(std::make_unique<PackedWork>(std::move(packed), std::move(work)));
}

}  // namespace ringlet
