#include "optim/adamw.h"

#include <cmath>
#include <utility>

namespace ringlet {
namespace {

// What is the same for all elements of a step. With r = √(1 − β₂ᵗ) multiplied through, one division per element is left
// (Kingma & Ba, section 2):   η/(1 − β₁ᵗ) · m/(√v/r + ε)  =  η·r/(1 − β₁ᵗ) · m/(√v + ε·r)
template <typename T>
struct AdamWScalars {
  AdamWScalars(const AdamWConfig& config, double lr, int64_t t)
      : beta1(static_cast<T>(config.beta1)),
        beta2(static_cast<T>(config.beta2)),
        rest1(static_cast<T>(1.0 - config.beta1)),
        rest2(static_cast<T>(1.0 - config.beta2)) {
    const double r = std::sqrt(1.0 - std::pow(config.beta2, static_cast<double>(t)));
    step = static_cast<T>(lr * r / (1.0 - std::pow(config.beta1, static_cast<double>(t))));
    eps = static_cast<T>(config.eps * r);
  }
  T beta1, beta2, rest1, rest2, step, eps;
};

// Only + · / √, which are correctly rounded: the vector body and the scalar tail of the loop give the same bits.
template <typename T>
void update(std::span<T> w, std::span<const T> g, T* m, T* v, T keep, const AdamWScalars<T>& s) {
  for (size_t i = 0; i < w.size(); ++i) {
    m[i] = s.beta1 * m[i] + s.rest1 * g[i];
    v[i] = s.beta2 * v[i] + s.rest2 * (g[i] * g[i]);
    w[i] = keep * w[i] - s.step * (m[i] / (std::sqrt(v[i]) + s.eps));
  }
}

}  // namespace

AdamW::AdamW(std::vector<ParamGroup> groups, std::vector<ParamSlice> slices, const AdamWConfig& config)
    : Optimizer(std::move(groups), std::move(slices), {"exp_avg", "exp_avg_sq"}), config_(config) {
  check(config.beta1 >= 0.0 && config.beta1 < 1.0, "AdamW: beta1 must be in [0, 1), got {}", config.beta1);
  check(config.beta2 >= 0.0 && config.beta2 < 1.0, "AdamW: beta2 must be in [0, 1), got {}", config.beta2);
  check(config.eps > 0.0, "AdamW: eps must be positive, got {}", config.eps);
}

void AdamW::step(double lr) {
  dispatch_real("AdamW", dtype(), [&]<typename T>() {
    T* m = flat_state(0).mutable_data<T>();
    T* v = flat_state(1).mutable_data<T>();
    const AdamWScalars<T> scalars(config_, lr, updates() + 1);
    for (size_t i = 0; i < slices().size(); ++i) {
      ParamSlice& piece = slice(i);
      const T keep = static_cast<T>(1.0 - lr * weight_decay_of(piece));
      update<T>(piece.value.mutable_span<T>(), piece.grad.span<T>(), m + begin_of(i), v + begin_of(i), keep, scalars);
    }
  });
  count_update();
}

}  // namespace ringlet
