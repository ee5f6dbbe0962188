// GPT-2's forward pass and loss a second time, as loops over doubles that share nothing with the library but the parameters: the
// oracle of the whole model. Slow and plain.
#pragma once

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include "nn/gpt.h"

namespace ringlet::test {

class ReferenceGpt {
 public:
  explicit ReferenceGpt(const Gpt& model) : config_(model.config()) {
    for (const NamedParameter& parameter : model.parameters()) {
      parameters_[parameter.name] = parameter.var.data().to_vector();
    }
  }

  /// Logits [T, V] of one sequence.
  std::vector<double> logits(const std::vector<int32_t>& tokens) const {
    const size_t T = tokens.size();
    std::vector<double> x(T * C);
    for (size_t t = 0; t < T; ++t) {
      for (size_t c = 0; c < C; ++c) {
        x[t * C + c] = of("wte.weight")[static_cast<size_t>(tokens[t]) * C + c] + of("wpe.weight")[t * C + c];
      }
    }
    for (int64_t i = 0; i < config_.layers; ++i) {
      const std::string h = "h." + std::to_string(i) + ".";
      add(x, times(attended(times(normed(x, h + "ln_1"), h + "attn.c_attn", C, 3 * C), T), h + "attn.c_proj", C, C));
      add(x, times(activated(times(normed(x, h + "ln_2"), h + "mlp.c_fc", C, 4 * C)), h + "mlp.c_proj", 4 * C, C));
    }
    return head(normed(x, "ln_f"), T);
  }

  /// Σ_t log Σ_v exp(z_tv) − z_t,target.
  double loss(const std::vector<int32_t>& tokens, const std::vector<int32_t>& targets) const {
    const std::vector<double> z = logits(tokens);
    const size_t V = static_cast<size_t>(config_.vocab_size);
    double total = 0.0;
    for (size_t t = 0; t < tokens.size(); ++t) {
      double sum = 0.0;
      for (size_t v = 0; v < V; ++v) {
        sum += std::exp(z[t * V + v]);
      }
      total += std::log(sum) - z[t * V + static_cast<size_t>(targets[t])];
    }
    return total;
  }

 private:
  using Values = std::vector<double>;

  const Values& of(const std::string& name) const { return parameters_.at(name); }
  bool has(const std::string& name) const { return parameters_.count(name) > 0; }

  static void add(Values& x, const Values& y) {
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] += y[i];
    }
  }

  Values times(const Values& x, const std::string& name, size_t K, size_t N) const {
    const Values& W = of(name + ".weight");
    Values y(x.size() / K * N);
    for (size_t row = 0; row < x.size() / K; ++row) {
      for (size_t n = 0; n < N; ++n) {
        double& sum = y[row * N + n] = has(name + ".bias") ? of(name + ".bias")[n] : 0.0;
        for (size_t k = 0; k < K; ++k) {
          sum += x[row * K + k] * W[k * N + n];
        }
      }
    }
    return y;
  }

  Values normed(const Values& x, const std::string& name) const {
    Values y(x.size());
    for (size_t row = 0; row < x.size() / C; ++row) {
      double mean = 0.0, variance = 0.0;
      for (size_t c = 0; c < C; ++c) {
        mean += x[row * C + c] / static_cast<double>(C);
      }
      for (size_t c = 0; c < C; ++c) {
        variance += (x[row * C + c] - mean) * (x[row * C + c] - mean) / static_cast<double>(C);
      }
      for (size_t c = 0; c < C; ++c) {
        const double xhat = (x[row * C + c] - mean) / std::sqrt(variance + config_.layer_norm_eps);
        y[row * C + c] = xhat * of(name + ".weight")[c] + (has(name + ".bias") ? of(name + ".bias")[c] : 0.0);
      }
    }
    return y;
  }

  Values attended(const Values& qkv, size_t T) const {
    const size_t H = static_cast<size_t>(config_.heads), D = C / H;
    Values y(T * C);
    for (size_t h = 0; h < H; ++h) {
      for (size_t i = 0; i < T; ++i) {
        Values p(i + 1);
        double sum = 0.0;
        for (size_t j = 0; j <= i; ++j) {
          double score = 0.0;
          for (size_t d = 0; d < D; ++d) {
            score += qkv[i * 3 * C + h * D + d] * qkv[j * 3 * C + C + h * D + d];
          }
          sum += p[j] = std::exp(score / std::sqrt(static_cast<double>(D)));
        }
        for (size_t j = 0; j <= i; ++j) {
          for (size_t d = 0; d < D; ++d) {
            y[i * C + h * D + d] += p[j] / sum * qkv[j * 3 * C + 2 * C + h * D + d];
          }
        }
      }
    }
    return y;
  }

  Values activated(Values x) const {
    for (double& value : x) {
      const double cubic = std::sqrt(2.0 / std::numbers::pi) * (value + 0.044715 * value * value * value);
      const double gate = config_.activation == GeluForm::Erf ? std::erf(value / std::numbers::sqrt2) : std::tanh(cubic);
      value *= (1.0 + gate) / 2.0;
    }
    return x;
  }

  Values head(const Values& x, size_t T) const {
    const size_t V = static_cast<size_t>(config_.vocab_size);
    if (!config_.tied_head) {
      return times(x, "lm_head", C, V);
    }
    Values z(T * V);
    for (size_t t = 0; t < T; ++t) {
      for (size_t v = 0; v < V; ++v) {
        for (size_t c = 0; c < C; ++c) {
          z[t * V + v] += x[t * C + c] * of("wte.weight")[v * C + c];
        }
      }
    }
    return z;
  }

  GptConfig config_;
  size_t C = static_cast<size_t>(config_.embed_dim);
  std::map<std::string, Values> parameters_;
};

}  // namespace ringlet::test
