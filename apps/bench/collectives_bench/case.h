// One operation at one size: how ringlet does it, how Open MPI does it, and what memory alone would take.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/bench/peers/gloo_peer.h"
#include "collectives/communicator.h"

namespace ringlet {

/// The memory of all measurements, made once: fresh pages would be measured instead of the operation.
class Pools {
 public:
  /// Bytes that pools for cases of `largest_bytes` take from their arena.
  static size_t bytes(int64_t largest_bytes);
  Pools(int64_t largest_bytes, std::shared_ptr<Arena> source);
  ~Pools();
  Pools(const Pools&) = delete;
  Pools& operator=(const Pools&) = delete;
  Device device() const { return source_->device(); }
  /// `numbers` are of `in` or `out`.
  void fill(std::span<float> numbers, float value) const;
  /// Of `out`.
  float result(int64_t i) const;
  std::span<float> in, out;

 private:
  std::shared_ptr<Arena> source_;
};

struct Peer {
  std::string call;                    // "MPI_Allreduce"
  std::function<void(int64_t)> run{};  // the i-th buffer of the batch
};

/// A batch works on different buffers, one after the other, so that none is warmer than a training step's would be.
struct Case {
  std::string op;
  int64_t bytes = 0;                    // of the larger of the two buffers
  int64_t batch = 1;                    // calls in a measurement
  double floor_bytes = 0;               // what all ranks together must read and write
  std::function<void(int64_t)> ours{};  // the i-th buffer of the batch
  std::vector<Peer> peers{};            // Open MPI's calls for it
  std::function<void(int64_t)> gloo{};  // empty where gloo has none, or is not there
  std::function<bool()> right{};        // after `ours`: the result of the first and the last element
};

/// The operations there are.
const std::vector<std::string>& case_names();
/// `gloo` may be null. Where the pools lie on a GPU there are no peers, which take the memory of the CPU.
Case make_case(std::string_view op, int64_t bytes, Communicator& world, Pools& pools, GlooPeer* gloo = nullptr);

/// (all) Does it once. AgreedFailure where the result is wrong on any rank.
void require_right(Communicator& world, const Case& one, const Pools& pools);

/// Fills what a case reads with small whole numbers, other ones every time.
void dirty(const Case& one, const Communicator& world, const Pools& pools, int64_t repetition);

}  // namespace ringlet
