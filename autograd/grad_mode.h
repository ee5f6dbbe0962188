// Whether ops record what they did.
#pragma once

namespace ringlet {

/// True unless a `NoGrad` lives on this thread.
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

}  // namespace ringlet
