#pragma once

#include <string>

#include "nn/dropout.h"
#include "nn/gpt_config.h"
#include "nn/linear.h"

namespace ringlet {

/// y = gelu(x·W_fc + b)·W_proj + b.    x, y: [..., C]   W_fc = c_fc: [C, 4C]   W_proj = c_proj: [4C, C]
class Mlp : public Module {
 public:
  Mlp(const GptConfig& config, const std::string& path);
  Var forward(const Var& x);

 private:
  GeluForm activation_;
  Linear c_fc_;
  Linear c_proj_;
  Dropout dropout_;
};

}  // namespace ringlet
