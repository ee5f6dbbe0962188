#include "optim/sgd.h"

#include <utility>
#include <vector>

#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

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

template <typename T>
std::vector<kernels::SgdSlice<T>> Sgd::pieces() {
  T* b = state_kinds().empty() ? nullptr : flat_state(0).mutable_data<T>();
  std::vector<kernels::SgdSlice<T>> pieces;
  for (size_t i = 0; i < slices().size(); ++i) {
    ParamSlice& piece = slice(i);
    pieces.push_back({.w = piece.value.mutable_data<T>(),
                      .g = piece.grad.data<T>(),
                      .b = b == nullptr ? nullptr : b + begin_of(i),
                      .n = piece.value.numel(),
                      .decay = static_cast<T>(weight_decay_of(piece))});
  }
  return pieces;
}

// Of the next update.
template <typename T>
kernels::SgdScalars<T> Sgd::scalars(double lr) const {
  const double arriving = updates() == 0 ? 1.0 : 1.0 - config_.dampening;
  return {.lr = static_cast<T>(lr),
          .momentum = static_cast<T>(config_.momentum),
          .arriving = static_cast<T>(arriving),
          .nesterov = config_.nesterov};
}

void Sgd::step(double lr) {
  check_rate(lr);
  dispatch_real("Sgd", dtype(), [&]<typename T>() {
    const auto list = pieces<T>();
    kernels::tables_on(device().kind).of<T>().sgd(list.data(), static_cast<int64_t>(list.size()), scalars<T>(lr));
  });
  count_update();
}

void Sgd::prepare(double lr) {
  check_rate(lr);
  dispatch_real("Sgd", dtype(), [&]<typename T>() { keep_numbers(scalars<T>(lr)); });
  count_update();
}

void Sgd::queue_update() {
  dispatch_real("Sgd", dtype(), [&]<typename T>() {
    const auto list = pieces<T>();
    const auto* at = kept_numbers<kernels::SgdScalars<T>>();
    kernels::tables_on(device().kind).of<T>().sgd_at(list.data(), static_cast<int64_t>(list.size()), at);
  });
}

}  // namespace ringlet
