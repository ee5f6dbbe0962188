#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tensor/base/check.h"

namespace ringlet {

void Schedule::validate() const {
  check(std::isfinite(lr) && lr >= 0.0, "schedule: the learning rate must be finite and not negative, got {}", lr);
  check(min_lr >= 0.0 && min_lr <= lr, "schedule: the lowest rate must be in 0 .. {}, got {}", lr, min_lr);
  check(warmup >= 0, "schedule: warm-up must not be negative, got {} updates", warmup);
  check(kind == Kind::Constant || warmup < horizon, "schedule: warm-up must end before the horizon, got {} of {} updates",
        warmup, horizon);
}

Schedule::Kind schedule_kind(std::string_view name) {
  if (name == "constant") {
    return Schedule::Kind::Constant;
  }
  if (name == "linear") {
    return Schedule::Kind::Linear;
  }
  check(name == "cosine", "schedule: must be constant, linear or cosine, got {}", name);
  return Schedule::Kind::Cosine;
}

double learning_rate(const Schedule& schedule, int64_t t) {
  const auto& [kind, lr, min_lr, warmup, horizon] = schedule;
  check(t >= 0, "learning_rate: completed updates must not be negative, got {}", t);
  schedule.validate();
  if (t < warmup) {
    return lr * static_cast<double>(t + 1) / static_cast<double>(warmup);
  }
  if (kind == Schedule::Kind::Constant) {
    return lr;
  }
  const double x = std::min(1.0, static_cast<double>(t - warmup) / static_cast<double>(horizon - warmup));
  if (kind == Schedule::Kind::Linear) {
    return lr + (min_lr - lr) * x;
  }
  return min_lr + (lr - min_lr) * (1.0 + std::cos(std::numbers::pi * x)) / 2.0;
}

}  // namespace ringlet
