// Forward and backward of micro-batches as work that the GPU repeats (Gpu::record): one call instead of the some hundred that start their
// kernels one by one. A kind of micro-batch (its shape, and where its gradient goes) runs as ever the first time, is recorded the second,
// and repeated from then on, with the same bits.
//
// What differs between repetitions lies where the kernels read it: tokens and targets in tensors that stay, the index of every dropout in
// one more. Activations have an allocator of their own, since repeated work writes to the same addresses each time; it counts them
// with the rank's.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "dist/strategy.h"
#include "nn/dropout.h"
#include "nn/module.h"
#include "tensor/base/gpu.h"

namespace ringlet {

class RecordedPasses {
 public:
  /// Forward and backward. Must neither wait nor communicate, and be the same whenever it is called.
  using Pass = std::function<TokenLoss(const Tensor& tokens, const Tensor& targets)>;

  /// `device` is that of the module's parameters, a GPU (`Error`). From here on the module's dropouts read their index there.
  RecordedPasses(Module& module, Device device);
  ~RecordedPasses();
  RecordedPasses(const RecordedPasses&) = delete;
  RecordedPasses& operator=(const RecordedPasses&) = delete;

  /// `gradient`: where the pass adds its gradient. The result is a copy, which the next repetition leaves alone.
  TokenSum run(const Tensor& gradient, const Tensor& tokens, const Tensor& targets, const Pass& pass);

 private:
  using Extents = std::vector<int64_t>;
  struct Batch {
    Tensor tokens, targets;
  };
  struct Kind {
    TokenSum loss;  // in memory of the rank's, so that recordings find all of memory_ free
    std::unique_ptr<RecordedWork> work;
  };

  void write_indices();
  const Batch& copied(const std::pair<Extents, Extents>& extents, const Tensor& tokens, const Tensor& targets);

  Module& module_;
  Device device_;
  std::vector<Dropout*> dropouts_;
  Tensor indices_;  // [dropouts_]
  std::shared_ptr<Allocator> memory_;
  std::map<std::pair<Extents, Extents>, Batch> batches_;  // by the extents of tokens and targets
  // By gradient, batch, and whether the module trains.
  std::map<std::tuple<const std::byte*, const Batch*, bool>, Kind> kinds_;
};

}  // namespace ringlet
