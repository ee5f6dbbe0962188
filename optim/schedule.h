#pragma once

#include <cstdint>
#include <string_view>

namespace ringlet {

/// How the learning rate follows the training. The defaults are a constant rate.
struct Schedule {
  enum class Kind : uint8_t { Constant, Linear, Cosine };
  Kind kind = Kind::Constant;
  double lr = 1e-3;     // the highest rate
  double min_lr = 0.0;  // the rate at the horizon, and after it
  int64_t warmup = 0;   // updates of linear warm-up, of any kind
  int64_t horizon = 0;  // updates of the whole training; unused by Constant

  /// Throws `Error`: rates must be finite, 0 ≤ min_lr ≤ lr; 0 ≤ warmup, and warmup < horizon unless Constant.
  void validate() const;
};

/// "constant", "linear", "cosine"; anything else is an `Error`.
Schedule::Kind schedule_kind(std::string_view name);

/// The rate of the update after `t` completed ones. A pure function of t: a resumed run has nothing to restore but t.
///   t < warmup:  lr·(t + 1)/warmup
///   else, with x = (t − warmup)/(horizon − warmup), at most 1:
///   Constant: lr    Linear: lr + (min_lr − lr)·x    Cosine: min_lr + (lr − min_lr)·(1 + cos πx)/2  (Loshchilov & Hutter, 2017)
double learning_rate(const Schedule& schedule, int64_t t);

}  // namespace ringlet
