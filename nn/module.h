// A module: parameters, buffers and child modules under names, a forward formula of its own, and hooks around it.
//
// Modules are made once and stay where they are (no copy, no move), so parents hold plain members and register them in their
// constructors. Nothing here knows of ranks: what shards, gathers or reduces comes in through hooks, and through
// `Var::set_data` and `Var::set_grad`, which point a parameter at a view of a flat tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autograd/variable.h"

namespace ringlet {

struct NamedParameter {
  std::string name;
  Var var;
};

/// State that is not trained: broadcast, saved and loaded with the parameters, never given a gradient.
struct NamedBuffer {
  std::string name;
  Tensor tensor;
};

class Module {
 public:
  using Hook = std::function<void()>;

  Module();
  virtual ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Depth first, a module's own before its children's, in the order of registration; dotted names ("h.0.attn.c_attn.weight").
  /// Every distinct variable once: one that is registered again (tied) keeps its first name. Frozen ones are listed too.
  std::vector<NamedParameter> parameters() const;
  /// Every further name of a variable, with the name that it is listed under.
  std::vector<std::pair<std::string, std::string>> tied_names() const;
  std::vector<NamedBuffer> buffers() const;
  /// This module first, under the empty name.
  std::vector<std::pair<std::string, Module*>> modules();
  /// Elements of all distinct parameters.
  int64_t parameter_count() const;

  /// What runs one after the other, each once per forward: units that may be held apart and brought in when their turn comes (FSDP).
  /// The modules of one unit stand in the order in which they run. What belongs to none of them is needed all the while.
  virtual std::vector<std::vector<Module*>> layers() { return {}; }

  bool training() const { return training_; }
  /// For this module and all below it: whether dropout drops.
  void train(bool on = true);
  void eval() { train(false); }

  // Hooks run in the order in which they were added; a module without any pays one branch.
  /// Before anything of this module's forward runs: parameters may still be pointed elsewhere.
  void on_forward_begin(Hook hook);
  /// After the output exists.
  void on_forward_end(Hook hook);
  /// When ∂L/∂output is complete, before the first backward rule of this module runs.
  void on_backward_begin(Hook hook);
  /// When ∂L/∂input is complete. Not run where the input wants no gradient (token ids, data), and it says nothing about the
  /// gradients of the parameters: for those, see `Var::on_gradient_ready`.
  void on_backward_end(Hook hook);

 protected:
  /// Registers a trainable parameter; the variable is returned to be kept as a member.
  Var add_parameter(std::string name, Tensor initial);
  /// The same, all elements `value`; and deferred: it takes memory when it is used, or is given another (FlatParameter).
  Var add_parameter(std::string name, const Shape& shape, DType dtype, double value = 0.0);
  /// Registers a variable that exists already: shared with another module, or under a second name.
  Var add_parameter(std::string name, Var shared);
  Tensor add_buffer(std::string name, Tensor initial);
  /// `child` must live as long as this module: a member of it.
  void add_module(std::string name, Module& child);

  /// formula(x), with this module's hooks around its forward and its backward.
  template <typename Formula>
  Var hooked(const Var& x, const Formula& formula) {
    if (hooks_ == nullptr) {
      return formula(x);
    }
    return leave(formula(enter(x)));
  }
  /// The same for a module whose input is no variable.
  template <typename Formula>
  Var hooked(const Formula& formula) {
    if (hooks_ == nullptr) {
      return formula();
    }
    enter({});
    return leave(formula());
  }

 private:
  struct Hooks;
  struct Registry;
  void collect(const std::string& prefix, Registry& registry) const;
  void collect_modules(const std::string& prefix, std::vector<std::pair<std::string, Module*>>& found);
  void require_new(const std::string& name) const;
  Hooks& hooks();
  Var enter(const Var& x);
  Var leave(Var y);

  std::vector<NamedParameter> parameters_;
  std::vector<NamedBuffer> buffers_;
  std::vector<std::pair<std::string, Module*>> children_;
  std::shared_ptr<Hooks> hooks_;  // null until the first hook; shared with the backward nodes that call it
  bool training_ = true;
};

}  // namespace ringlet
