// Buckets: the ranges in which a flat gradient travels while backward still runs (Li et al., VLDB 2020, section 3.2.3).
//
// Backward comes to the last layer first, so buckets are cut from the end of the flat parameter: bucket 0 is its tail, and small, so
// that something is under way early. The others are large enough for the latency of a collective not to count: B buckets cost
// B latencies where one all_reduce costs one.
//
// A bucket is a range of the flat gradient and nothing else: nothing is copied in or out. It cuts between parameters, and where it
// cuts changes no bit, because a sum over ranks is made element by element in order T.
//
// Static order: bucket k leaves after buckets 0 … k−1, in whatever order gradients become ready. So every rank makes the same calls
// in the same order, also one that computed another graph, left parameters unused, or had no micro-batch at all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "dist/flat_parameter.h"

namespace ringlet {

/// The most that a bucket holds, unless one parameter alone is larger. PyTorch's defaults.
struct BucketSizes {
  int64_t first_bytes = int64_t{1} << 20;
  int64_t bytes = int64_t{25} << 20;
};

/// Elements [begin, end) of the flat parameter, which are its entries [first_entry, last_entry).
struct Bucket {
  int64_t begin = 0;
  int64_t end = 0;
  size_t first_entry = 0;
  size_t last_entry = 0;
};

/// In the order in which they leave: together all elements, those of the padding in bucket 0. Sizes below 1 are an `Error`.
std::vector<Bucket> cut_buckets(const FlatParameter& parameter, const BucketSizes& sizes);

class GradientBuckets {
 public:
  /// Called once per bucket and step: this rank's gradient of [begin, end) is complete.
  using Send = std::function<void(int64_t begin, int64_t end)>;

  /// Every variable of `parameter` gets a hook, which does nothing when this is gone.
  GradientBuckets(const FlatParameter& parameter, const BucketSizes& sizes, Send send);

  /// The backward() that follows brings the last contributions of this step: full buckets leave from now on. A gradient that
  /// becomes ready twice is then an `Error`: its bucket may have left.
  void open();
  /// Nothing more will come. What has not left, leaves.
  void send_rest();
  /// Starts the next step.
  void reset();

  const std::vector<Bucket>& buckets() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // the hooks know it weakly
};

}  // namespace ringlet
