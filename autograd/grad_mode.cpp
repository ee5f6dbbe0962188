#include "autograd/grad_mode.h"

#include <utility>

namespace ringlet {
namespace {
thread_local bool enabled = true;
}  // namespace

bool grad_enabled() { return enabled; }

NoGrad::NoGrad() : previous_(std::exchange(enabled, false)) {}
NoGrad::~NoGrad() { enabled = previous_; }

EnableGrad::EnableGrad() : previous_(std::exchange(enabled, true)) {}
EnableGrad::~EnableGrad() { enabled = previous_; }

}  // namespace ringlet
