#include "dist/parameter_rules.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ringlet {
namespace {

struct Part {
  std::string name;
  Tensor tensor;
  bool stays = false;  // where it is; what is trained moves into flat memory

  // Of the storage, in elements: all that the view reaches.
  int64_t begin() const { return tensor.offset(); }
  int64_t end() const {
    int64_t last = tensor.offset();
    for (int d = 0; d < tensor.rank(); ++d) {
      last += (tensor.dim(d) - 1) * tensor.strides()[d];
    }
    return last + 1;
  }
};

bool share_elements(const Part& a, const Part& b) {
  return a.tensor.numel() > 0 && b.tensor.numel() > 0 && a.tensor.shares_storage(b.tensor) && a.begin() < b.end() &&
         b.begin() < a.end();
}

bool is_stretched(const Tensor& tensor) {
  for (int d = 0; d < tensor.rank(); ++d) {
    if (tensor.dim(d) > 1 && tensor.strides()[d] == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

void check_parameters(const Module& module) {
  std::vector<Part> parts;
  bool trains = false;
  for (const NamedParameter& parameter : module.parameters()) {
    trains = trains || parameter.var.requires_grad();
    parts.push_back({"parameter " + parameter.name, parameter.var.data(), !parameter.var.requires_grad()});
  }
  check(trains, "strategy: the module must have a trainable parameter, got {} frozen ones", parts.size());
  for (const NamedBuffer& buffer : module.buffers()) {
    parts.push_back({"buffer " + buffer.name, buffer.tensor, true});
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const Tensor& tensor = parts[i].tensor;
    check(!is_stretched(tensor), "strategy: the elements of {} must be its own, got shape {} stretched by strides {}",
          parts[i].name, tensor.shape(), tensor.strides());
    check(!parts[i].stays || tensor.is_contiguous(),
          "strategy: {} is not trained and must be contiguous, got shape {} with strides {}", parts[i].name, tensor.shape(),
          tensor.strides());
    for (size_t j = 0; j < i; ++j) {
      check(!share_elements(parts[j], parts[i]),
            "strategy: {} and {} share elements and would drift apart; register one variable under both names to tie them",
            parts[j].name, parts[i].name);
    }
  }
}

}  // namespace ringlet
