// What carries bytes between the ranks of an emulated communicator of NCCL: POSIX shared memory named by the communicator's id, so
// that ranks may be threads or processes; a ring of bytes from every rank to every other.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace ringlet::emulated_gpu {

class Wire {
 public:
  /// Makes or finds the memory of `name` for `ranks` ranks; this is `rank`, on GPU `device` of this host.
  Wire(const std::string& name, int ranks, int rank, int device);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Whether all ranks have come. Then the name is free again, and what remains is gone with the last who has it.
  bool all_here();
  /// Another rank on this rank's GPU, -1 if there is none. Known when all are here.
  int rank_on_same_device() const;

  /// Puts in, takes out what can be at once; how much that was.
  size_t push(int to, std::span<const std::byte> bytes);
  size_t pull(int from, std::span<std::byte> bytes);

 private:
  struct Head;
  struct Ring;
  Head& head() const;
  Ring& ring(int from, int to) const;
  std::atomic<int>& device_of(int rank) const;

  std::string name_;
  int ranks_;
  int rank_;
  size_t bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace ringlet::emulated_gpu
