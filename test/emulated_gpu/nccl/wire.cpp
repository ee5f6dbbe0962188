#include "test/emulated_gpu/nccl/wire.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace ringlet::emulated_gpu {
namespace {

constexpr size_t kRingBytes = size_t{32} << 10;
constexpr size_t kPage = 4096;

}  // namespace

// Memory begins as zeros, which is how all of it begins.
struct Wire::Head {
  std::atomic<int> here;
};
struct alignas(64) Wire::Ring {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  std::byte bytes[kRingBytes];
};

Wire::Wire(const std::string& name, int ranks, int rank, int device)
    : name_(name),
      ranks_(ranks),
      rank_(rank),
      bytes_(kPage + sizeof(Ring) * static_cast<size_t>(ranks) * static_cast<size_t>(ranks)) {
  const int file = shm_open(name_.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes_)) != 0) {
    throw std::system_error(errno, std::generic_category(), "emulated NCCL: " + name_);
  }
  void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "emulated NCCL: " + name_);
  }
  memory_ = static_cast<std::byte*>(memory);
  device_of(rank).store(device);
  head().here.fetch_add(1);
}

Wire::~Wire() {
  if (!all_here()) {
    shm_unlink(name_.c_str());
  }
  munmap(memory_, bytes_);
}

bool Wire::all_here() {
  if (head().here.load() < ranks_) {
    return false;
  }
  if (rank_ == 0 && !name_.empty()) {
    shm_unlink(name_.c_str());
    name_.clear();
  }
  return true;
}

int Wire::rank_on_same_device() const {
  for (int r = 0; r < ranks_; ++r) {
    if (r != rank_ && device_of(r).load() == device_of(rank_).load()) {
      return r;
    }
  }
  return -1;
}

size_t Wire::push(int to, std::span<const std::byte> bytes) {
  Ring& ring = this->ring(rank_, to);
  const uint64_t written = ring.written.load(std::memory_order_relaxed);
  const size_t room = kRingBytes - static_cast<size_t>(written - ring.read.load(std::memory_order_acquire));
  const size_t at = written % kRingBytes;
  const size_t n = std::min({bytes.size(), room, kRingBytes - at});
  std::memcpy(ring.bytes + at, bytes.data(), n);
  ring.written.store(written + n, std::memory_order_release);
  return n;
}

size_t Wire::pull(int from, std::span<std::byte> bytes) {
  Ring& ring = this->ring(from, rank_);
  const uint64_t read = ring.read.load(std::memory_order_relaxed);
  const size_t there = static_cast<size_t>(ring.written.load(std::memory_order_acquire) - read);
  const size_t at = read % kRingBytes;
  const size_t n = std::min({bytes.size(), there, kRingBytes - at});
  std::memcpy(bytes.data(), ring.bytes + at, n);
  ring.read.store(read + n, std::memory_order_release);
  return n;
}

Wire::Head& Wire::head() const { return *reinterpret_cast<Head*>(memory_); }

std::atomic<int>& Wire::device_of(int rank) const { return reinterpret_cast<std::atomic<int>*>(memory_ + sizeof(Head))[rank]; }

Wire::Ring& Wire::ring(int from, int to) const { return reinterpret_cast<Ring*>(memory_ + kPage)[from * ranks_ + to]; }

}  // namespace ringlet::emulated_gpu
