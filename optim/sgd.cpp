#include "optim/sgd.h"

#include <utility>

namespace ringlet {
namespace {

template <typename T>
struct SgdScalars {
  T lr, decay, momentum, arriving;  // η  λ  μ  1 − τ
};

template <typename T>
void update_plain(std::span<T> w, std::span<const T> g, const SgdScalars<T>& s) {
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] -= s.lr * (g[i] + s.decay * w[i]);
  }
}

template <typename T>
void update_momentum(std::span<T> w, std::span<const T> g, T* b, const SgdScalars<T>& s, bool nesterov) {
  for (size_t i = 0; i < w.size(); ++i) {
    const T d = g[i] + s.decay * w[i];
    b[i] = s.momentum * b[i] + s.arriving * d;
    w[i] -= s.lr * (nesterov ? d + s.momentum * b[i] : b[i]);
  }
}

std::vector<std::string> kinds_of(const SgdConfig& config) {
  return config.momentum == 0.0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum_buffer"};
}

}  // namespace

Sgd::Sgd(std::vector<ParamGroup> groups, std::vector<ParamSlice> slices, const SgdConfig& config)
    : Optimizer(std::move(groups), std::move(slices), kinds_of(config)), config_(config) {
  check(config.momentum >= 0.0 && config.momentum < 1.0, "Sgd: momentum must be in [0, 1), got {}", config.momentum);
  check(config.dampening >= 0.0 && config.dampening <= 1.0, "Sgd: dampening must be in [0, 1], got {}", config.dampening);
  check(!config.nesterov || (config.momentum > 0.0 && config.dampening == 0.0),
        "Sgd: nesterov needs momentum and no dampening, got momentum {} and dampening {}", config.momentum, config.dampening);
}

void Sgd::step(double lr) {
  dispatch_real("Sgd", dtype(), [&]<typename T>() {
    const double arriving = updates() == 0 ? 1.0 : 1.0 - config_.dampening;
    T* b = state_kinds().empty() ? nullptr : flat_state(0).mutable_data<T>();
    for (size_t i = 0; i < slices().size(); ++i) {
      ParamSlice& piece = slice(i);
      const SgdScalars<T> scalars{static_cast<T>(lr), static_cast<T>(weight_decay_of(piece)), static_cast<T>(config_.momentum),
                                  static_cast<T>(arriving)};
      const std::span<T> w = piece.value.mutable_span<T>();
      if (b == nullptr) {
        update_plain<T>(w, piece.grad.span<T>(), scalars);
      } else {
        update_momentum<T>(w, piece.grad.span<T>(), b + begin_of(i), scalars, config_.nesterov);
      }
    }
  });
  count_update();
}

}  // namespace ringlet
