#include "nn/state_dict.h"

#include <cstring>
#include <vector>

namespace ringlet {
namespace {

// One kind of disagreement: how often, and the first few by name.
class Disagreement {
 public:
  explicit Disagreement(std::string kind) : kind_(std::move(kind)) {}
  void add(const std::string& what) {
    if (++count_ <= kShown) {
      shown_ += (count_ == 1 ? "" : ", ") + what;
    }
  }
  bool none() const { return count_ == 0; }
  std::string text() const { return message("{} {} ({}{})", count_, kind_, shown_, count_ > kShown ? ", ..." : ""); }

 private:
  static constexpr int64_t kShown = 3;
  std::string kind_;
  std::string shown_;
  int64_t count_ = 0;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor left = a.to(Device{}).contiguous(), right = b.to(Device{}).contiguous();
  return left.shape() == right.shape() && left.dtype() == right.dtype() &&
         (left.bytes() == 0 || std::memcmp(left.raw_data(), right.raw_data(), static_cast<size_t>(left.bytes())) == 0);
}

void require_fit(const StateDict& model, const StateDict& state, const std::map<std::string, std::string>& tied) {
  Disagreement missing("missing"), unexpected("unexpected"), shape("of another shape"), dtype("of another dtype"),
      untied("that should be tied but differ");
  for (const auto& [name, own] : model) {
    const auto given = state.find(name);
    if (given == state.end() || !given->second.defined()) {
      missing.add(name);
    } else if (given->second.shape() != own.shape()) {
      shape.add(message("{}: {} for {}", name, given->second.shape(), own.shape()));
    } else if (given->second.dtype() != own.dtype()) {
      dtype.add(message("{}: {} for {}", name, given->second.dtype(), own.dtype()));
    }
  }
  for (const auto& [name, given] : state) {
    const auto alias = tied.find(name);
    if (alias == tied.end()) {
      model.contains(name) ? void() : unexpected.add(name);
    } else if (const auto first = state.find(alias->second); first != state.end() && !same_bits(given, first->second)) {
      untied.add(name + " and " + alias->second);
    }
  }
  std::string found;
  for (const Disagreement* kind : {&missing, &unexpected, &shape, &dtype, &untied}) {
    found += kind->none() ? "" : (found.empty() ? "" : "; ") + kind->text();
  }
  check(found.empty(), "load_state_dict: the state does not fit the model, which stays as it was: {}", found);
}

}  // namespace

StateDict state_dict(const Module& model) {
  StateDict state;
  for (const NamedParameter& parameter : model.parameters()) {
    state.emplace(parameter.name, parameter.var.data());
  }
  for (const NamedBuffer& buffer : model.buffers()) {
    state.emplace(buffer.name, buffer.tensor);
  }
  return state;
}

void load_state_dict(Module& model, const StateDict& state) {
  const auto tied = model.tied_names();
  StateDict own = state_dict(model);
  require_fit(own, state, {tied.begin(), tied.end()});
  for (auto& [name, tensor] : own) {
    tensor.copy_from(state.at(name));
  }
}

}  // namespace ringlet
