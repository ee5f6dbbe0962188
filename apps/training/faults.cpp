#include "apps/training/faults.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "apps/training/failure.h"
#include "tensor/base/check.h"

namespace ringlet {
namespace {

constexpr std::array kWhat = {"throw", "throw-save", "throw-load", "kill", "drift", "nan-loss", "nan-grad", "hang", "absent"};

[[noreturn]] void raise_fault(const std::string& where) { throw std::runtime_error("fault on purpose, " + where); }

[[noreturn]] void pause_for_ever() {
  for (;;) {
    pause();
  }
}

bool is_for(const std::optional<Fault>& fault, int rank) { return fault && (fault->rank < 0 || fault->rank == rank); }

}  // namespace

Fault Fault::parse(const std::string& text) {
  Fault fault;
  size_t end = text.find(':');
  fault.what = text.substr(0, end);
  check<UsageError>(std::find(kWhat.begin(), kWhat.end(), fault.what) != kWhat.end(), "RINGLET_FAULT: unknown fault '{}'",
                    fault.what);
  while (end != std::string::npos) {
    const size_t begin = end + 1;
    end = text.find(':', begin);
    const std::string part = text.substr(begin, end == std::string::npos ? end : end - begin);
    const std::string digits = part.substr(std::min(part.size(), size_t{5}));
    int number = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool whole = error == std::errc() && rest == digits.data() + digits.size() && number >= 0;
    check<UsageError>(whole && (part.starts_with("rank=") || part.starts_with("step=")),
                      "RINGLET_FAULT: takes rank=R and step=S, got '{}'", part);
    if (part[0] == 'r') {
      fault.rank = number;
    } else {
      fault.step = number;
    }
  }
  return fault;
}

std::optional<Fault> Fault::from_environment() {
  const char* text = std::getenv("RINGLET_FAULT");
  return text == nullptr || *text == '\0' ? std::nullopt : std::optional(parse(text));
}

Faults::Faults(std::optional<Fault> fault, int rank, const Module& model, int64_t first_step)
    : fault_(is_for(fault, rank) ? std::move(fault) : std::nullopt),
      model_(model),
      now_(std::make_shared<Now>(Now{first_step})) {
  if (!fault_ || fault_->what != "nan-grad") {
    return;
  }
  // After backward it could be too late: the gradient may have been sent. When that of the last parameter is ready, that of the
  // first is not yet; where layers are sharded the first is not even begun, but the last one's layer is not complete.
  Var last = model.parameters().back().var;
  last.on_gradient_ready([&model, known = std::weak_ptr<Now>(now_), wanted = fault_->step] {
    if (const auto now = known.lock(); now != nullptr && now->step == wanted && !now->spent) {
      now->spent = true;
      const Var first = model.parameters().front().var;
      Tensor grad = first.grad().defined() ? first.grad() : model.parameters().back().var.grad();
      grad.view({-1}).narrow(0, 0, 1).fill(std::numeric_limits<double>::quiet_NaN());
    }
  });
}

void Faults::on_backward(int64_t step, LossSum& local) {
  if (!fault_ || fault_->step != step) {
    return;
  }
  if (fault_->what == "throw") {
    raise_fault(message("in step {}", step));
  } else if (fault_->what == "kill") {
    raise(SIGKILL);
  } else if (fault_->what == "hang") {
    pause_for_ever();
  } else if (fault_->what == "nan-loss" && !now_->spent) {
    now_->spent = true;
    local += TokenSum{.sum = std::numeric_limits<double>::quiet_NaN(), .count = 0};
  }
}

void Faults::on_step(const StepRecord& record) {
  now_->step = record.step + 1;
  if (!fault_ || fault_->step != record.step) {
    return;
  }
  if (fault_->what == "throw-save") {
    raise_fault(message("before the checkpoint of step {}", record.step));
  } else if (fault_->what == "drift") {
    Tensor first = model_.parameters().front().var.data().view({-1}).narrow(0, 0, 1);
    first.fill(first.item() + 1.0);
  }
}

void Faults::before_start(const std::optional<Fault>& fault, int rank) {
  if (is_for(fault, rank) && fault->what == "absent") {
    pause_for_ever();
  }
}

void Faults::at(const std::optional<Fault>& fault, const std::string& what, int rank) {
  if (is_for(fault, rank) && fault->what == what) {
    raise_fault(what);
  }
}

}  // namespace ringlet
