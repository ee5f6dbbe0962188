// Whether ops record what they did.
#pragma once

namespace ringlet {

/// True, unless the innermost guard on this thread is a `NoGrad`. False inside backward().
bool grad_enabled();

/// While it lives, ops on this thread record nothing: no graph, no saved tensors.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};

/// While it lives, ops on this thread record again: inside a rule or hook that computes forward anew.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool previous_;
};

}  // namespace ringlet
