#include "nn/module.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/hooks.h"

namespace ringlet {

struct Module::Hooks {
  std::vector<Hook> forward_begin, forward_end, backward_begin, backward_end;
};

struct Module::Registry {
  std::vector<NamedParameter> parameters;
  std::vector<std::pair<std::string, std::string>> tied;
  std::vector<NamedBuffer> buffers;

  void add(const std::string& name, const Var& var) {
    const auto [first, is_new] = place_.try_emplace(var.identity(), parameters.size());
    if (is_new) {
      parameters.push_back({name, var});
    } else {
      tied.emplace_back(name, parameters[first->second].name);
    }
  }

 private:
  std::unordered_map<const void*, size_t> place_{};  // in `parameters`
};

namespace {

std::string joined(const std::string& prefix, const std::string& name) { return prefix.empty() ? name : prefix + "." + name; }

void run_all(const std::vector<Module::Hook>& hooks) {
  for (const Module::Hook& hook : hooks) {
    hook();
  }
}

}  // namespace

Module::Module() = default;
Module::~Module() = default;

void Module::collect(const std::string& prefix, Registry& registry) const {
  for (const NamedParameter& parameter : parameters_) {
    registry.add(joined(prefix, parameter.name), parameter.var);
  }
  for (const NamedBuffer& buffer : buffers_) {
    registry.buffers.push_back({joined(prefix, buffer.name), buffer.tensor});
  }
  for (const auto& [name, child] : children_) {
    child->collect(joined(prefix, name), registry);
  }
}

std::vector<NamedParameter> Module::parameters() const {
  Registry registry;
  collect("", registry);
  return std::move(registry.parameters);
}

std::vector<std::pair<std::string, std::string>> Module::tied_names() const {
  Registry registry;
  collect("", registry);
  return std::move(registry.tied);
}

std::vector<NamedBuffer> Module::buffers() const {
  Registry registry;
  collect("", registry);
  return std::move(registry.buffers);
}

void Module::collect_modules(const std::string& prefix, std::vector<std::pair<std::string, Module*>>& found) {
  found.emplace_back(prefix, this);
  for (const auto& [name, child] : children_) {
    child->collect_modules(joined(prefix, name), found);
  }
}

std::vector<std::pair<std::string, Module*>> Module::modules() {
  std::vector<std::pair<std::string, Module*>> found;
  collect_modules("", found);
  return found;
}

int64_t Module::parameter_count() const {
  int64_t elements = 0;
  for (const NamedParameter& parameter : parameters()) {
    elements += parameter.var.numel();
  }
  return elements;
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& [name, child] : children_) {
    child->train(on);
  }
}

void Module::require_new(const std::string& name) const {
  const auto is_named = [&](const auto& known) { return known.name == name; };
  const bool taken = std::any_of(parameters_.begin(), parameters_.end(), is_named) ||
                     std::any_of(buffers_.begin(), buffers_.end(), is_named) ||
                     std::any_of(children_.begin(), children_.end(), [&](const auto& known) { return known.first == name; });
  check(!name.empty() && !taken, "module: every part needs a name of its own, got \"{}\"{}", name, taken ? " twice" : "");
}

Var Module::add_parameter(std::string name, Tensor initial) {
  return add_parameter(std::move(name), Var(std::move(initial), true));
}

Var Module::add_parameter(std::string name, const Shape& shape, DType dtype, double value) {
  return add_parameter(std::move(name),
                       Tensor::deferred(shape, dtype, Category::Parameters, [value](Tensor& flat) { flat.fill(value); }));
}

Var Module::add_parameter(std::string name, Var shared) {
  require_new(name);
  check(shared.defined() && shared.is_leaf(), "module: parameter {} must be a leaf", name);
  parameters_.push_back({std::move(name), shared});
  return shared;
}

Tensor Module::add_buffer(std::string name, Tensor initial) {
  require_new(name);
  check(initial.defined(), "module: buffer {} is undefined", name);
  buffers_.push_back({std::move(name), initial});
  return initial;
}

void Module::add_module(std::string name, Module& child) {
  require_new(name);
  children_.emplace_back(std::move(name), &child);
}

Module::Hooks& Module::hooks() {
  if (hooks_ == nullptr) {
    hooks_ = std::make_shared<Hooks>();
  }
  return *hooks_;
}

void Module::on_forward_begin(Hook hook) { hooks().forward_begin.push_back(std::move(hook)); }
void Module::on_forward_end(Hook hook) { hooks().forward_end.push_back(std::move(hook)); }
void Module::on_backward_begin(Hook hook) { hooks().backward_begin.push_back(std::move(hook)); }
void Module::on_backward_end(Hook hook) { hooks().backward_end.push_back(std::move(hook)); }

Var Module::enter(const Var& x) {
  run_all(hooks_->forward_begin);
  if (!x.defined() || hooks_->backward_end.empty()) {
    return x;
  }
  return on_backward(x, [hooks = hooks_] { run_all(hooks->backward_end); });
}

Var Module::leave(Var y) {
  run_all(hooks_->forward_end);
  if (hooks_->backward_begin.empty()) {
    return y;
  }
  return on_backward(y, [hooks = hooks_] { run_all(hooks->backward_begin); });
}

}  // namespace ringlet
