#include "optim/adamw.h"

#include <cmath>
#include <utility>
#include <vector>

#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

// The numbers of update t, in f64 and rounded once.
template <typename T>
kernels::AdamWScalars<T> scalars_of(const AdamWConfig& config, double lr, int64_t t) {
  const double r = std::sqrt(1.0 - std::pow(config.beta2, static_cast<double>(t)));
  return {.lr = lr,
          .beta1 = static_cast<T>(config.beta1),
          .beta2 = static_cast<T>(config.beta2),
          .rest1 = static_cast<T>(1.0 - config.beta1),
          .rest2 = static_cast<T>(1.0 - config.beta2),
          .step = static_cast<T>(lr * r / (1.0 - std::pow(config.beta1, static_cast<double>(t)))),
          .eps = static_cast<T>(config.eps * r)};
}

}  // namespace

AdamW::AdamW(std::vector<ParamGroup> groups, std::vector<ParamSlice> slices, const AdamWConfig& config)
    : Optimizer(std::move(groups), std::move(slices), {"exp_avg", "exp_avg_sq"}), config_(config) {
  check(config.beta1 >= 0.0 && config.beta1 < 1.0, "AdamW: beta1 must be in [0, 1), got {}", config.beta1);
  check(config.beta2 >= 0.0 && config.beta2 < 1.0, "AdamW: beta2 must be in [0, 1), got {}", config.beta2);
  config.check_eps(this->dtype());
}

// In the first update eps is multiplied by √(1 − β₂); where the product vanishes, a gradient of 0 is divided by 0.
void AdamWConfig::check_eps(DType dtype) const {
  const double smallest = eps * std::sqrt(1.0 - beta2);
  check(eps > 0.0 && (dtype == DType::F64 ? smallest : static_cast<double>(static_cast<float>(smallest))) > 0.0,
        "AdamW: eps must be positive, times sqrt(1 - beta2) in {} too, got {}", dtype, eps);
}

template <typename T>
std::vector<kernels::AdamWSlice<T>> AdamW::pieces() {
  T* m = flat_state(0).mutable_data<T>();
  T* v = flat_state(1).mutable_data<T>();
  std::vector<kernels::AdamWSlice<T>> pieces;
  for (size_t i = 0; i < slices().size(); ++i) {
    ParamSlice& piece = slice(i);
    pieces.push_back({.w = piece.value.mutable_data<T>(),
                      .g = piece.grad.data<T>(),
                      .m = m + begin_of(i),
                      .v = v + begin_of(i),
                      .n = piece.value.numel(),
                      .decay = weight_decay_of(piece)});
  }
  return pieces;
}

void AdamW::step(double lr) {
  check_rate(lr);
  dispatch_real("AdamW", dtype(), [&]<typename T>() {
    const auto list = pieces<T>();
    const auto scalars = scalars_of<T>(config_, lr, updates() + 1);
    kernels::tables_on(device().kind).of<T>().adamw(list.data(), static_cast<int64_t>(list.size()), scalars);
  });
  count_update();
}

void AdamW::prepare(double lr) {
  check_rate(lr);
  dispatch_real("AdamW", dtype(), [&]<typename T>() { keep_numbers(scalars_of<T>(config_, lr, updates() + 1)); });
  count_update();
}

void AdamW::queue_update() {
  dispatch_real("AdamW", dtype(), [&]<typename T>() {
    const auto list = pieces<T>();
    const auto* scalars = kept_numbers<kernels::AdamWScalars<T>>();
    kernels::tables_on(device().kind).of<T>().adamw_at(list.data(), static_cast<int64_t>(list.size()), scalars);
  });
}

}  // namespace ringlet
