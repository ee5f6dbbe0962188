// gloo's collectives over loopback TCP, where libgloo-dev is installed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace ringlet {

class GlooPeer {
 public:
  /// All ranks of a job meet through files in `folder`. Null where the build has no gloo.
  static std::unique_ptr<GlooPeer> join(int rank, int size, const std::string& folder);
  virtual ~GlooPeer() = default;

  virtual void all_reduce(float* in, float* out, size_t n) = 0;
  virtual void all_gather(float* shard, float* full, size_t n_shard) = 0;
  virtual void broadcast(float* data, size_t n, int root) = 0;
  virtual void reduce(float* in, float* out, size_t n, int root) = 0;
};

}  // namespace ringlet
