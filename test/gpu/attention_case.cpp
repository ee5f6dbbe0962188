// Bounds to first order, with n keys in a row and P the largest factor of dropout:
//   s = q·k/√D is off by at most  e_s = (D + 4)·u·Σ|q||k|/√D, and s − m by u·2|s|max more;  p relatively by  e_p = 2·e_s + (n + 16)·u
//   y = Σ p·v by  Σ p·P·|v|·(e_p + w)      w: p stored rounded
//   dp = dy·v by  e_dp = (D + 4)·u·P·Σ|dy||v|;   Σ_j dp·p by  e_dp + |dp|max·(e_p + n·u)
//   ds = p·(dp − Σ)/√D by  p·e_ds,  e_ds = (2·e_dp + |dp|max·(3·e_p + 2·n·u + 2·w))/√D;   dq, dk, dv by the sums over their terms
#include "test/gpu/attention_case.h"

namespace ringlet::test {
namespace {

// One head of a case.
struct Head {
  Head(const AttentionCase& c, int64_t b, int64_t h)
      : row(3 * c.channels()), q(b * c.sizes.T * row + h * c.sizes.D), k(q + c.channels()), v(k + c.channels()) {}
  int64_t row, q, k, v;  // stride, and offsets in qkv
};

double magnitude(const std::vector<double>& a, int64_t at, const std::vector<double>& b, int64_t bt, int64_t D) {
  double sum = 0;
  for (int64_t d = 0; d < D; ++d) {
    sum += std::fabs(a[static_cast<size_t>(at + d)] * b[static_cast<size_t>(bt + d)]);
  }
  return sum;
}
double product(const std::vector<double>& a, int64_t at, const std::vector<double>& b, int64_t bt, int64_t D) {
  double sum = 0;
  for (int64_t d = 0; d < D; ++d) {
    sum += a[static_cast<size_t>(at + d)] * b[static_cast<size_t>(bt + d)];
  }
  return sum;
}

struct Bounds {
  const AttentionCase& c;
  const std::vector<double>&qkv, &dy;
  const AttentionRoundoff& roundoff;
  AttentionAnswer& a;

  // to[…] += weight·|from[…]|, D numbers.
  void add(std::vector<double>& to, int64_t at, double weight, const std::vector<double>& from, int64_t ft) const {
    for (int64_t d = 0; d < c.sizes.D; ++d) {
      to[static_cast<size_t>(at + d)] += weight * std::fabs(from[static_cast<size_t>(ft + d)]);
    }
  }

  void row(int64_t b, int64_t h, int64_t i) const {
    const auto& [B, T, H, D] = c.sizes;
    const Head head(c, b, h);
    const double scale = 1 / std::sqrt(static_cast<double>(D)), P = 1 / (1 - c.p), u = roundoff.u, w = roundoff.weights;
    const int64_t n = a.seen[static_cast<size_t>(b * T + i)], y = (b * T + i) * c.channels() + h * D, q = head.q + i * head.row;
    const auto key = [&](int64_t j) { return a.kept[static_cast<size_t>(b * T + j)] * head.row; };
    double s_max = 0, e_s = 0, dp_max = 0, e_dp = 0;
    for (int64_t j = 0; j < n; ++j) {
      const double s = magnitude(qkv, q, qkv, head.k + key(j), D) * scale, dp = magnitude(dy, y, qkv, head.v + key(j), D) * P;
      s_max = std::max(s_max, std::fabs(product(qkv, q, qkv, head.k + key(j), D)) * scale);
      dp_max = std::max(dp_max, std::fabs(product(dy, y, qkv, head.v + key(j), D)) * P);
      e_s = std::max(e_s, static_cast<double>(D + 4) * u * s);
      e_dp = std::max(e_dp, static_cast<double>(D + 4) * u * dp);
    }
    const double e_p = 2 * (e_s + 2 * u * s_max) + static_cast<double>(n + 16) * u;
    const double e_ds = (2 * e_dp + dp_max * (3 * e_p + static_cast<double>(2 * n) * u + 2 * w)) * scale;
    const double log_sum = a.log_sum[static_cast<size_t>((b * H + h) * T + i)];
    a.log_sum_bound[static_cast<size_t>((b * H + h) * T + i)] = e_p + u * std::fabs(log_sum);
    for (int64_t j = 0; j < n; ++j) {
      const double p = std::exp(product(qkv, q, qkv, head.k + key(j), D) * scale - log_sum);
      add(a.y_bound, y, p * P * (e_p + w), qkv, head.v + key(j));
      add(a.dqkv_bound, q, p * e_ds, qkv, head.k + key(j));
      add(a.dqkv_bound, head.k + key(j), p * (e_ds + static_cast<double>(T) * u * dp_max), qkv, q);
      add(a.dqkv_bound, head.v + key(j), p * P * (e_p + w + static_cast<double>(T) * u), dy, y);
    }
  }
};

}  // namespace

AttentionAnswer answer_of(const AttentionCase& c, const std::vector<double>& qkv, const std::vector<double>& dy,
                          const AttentionRoundoff& roundoff) {
  const auto rows = static_cast<size_t>(c.rows()), heads = rows * static_cast<size_t>(c.sizes.H);
  AttentionAnswer a{std::vector<int32_t>(rows), std::vector<int32_t>(rows),      std::vector<double>(dy.size()),
                    std::vector<double>(heads), std::vector<double>(qkv.size()), std::vector<double>(dy.size()),
                    std::vector<double>(heads), std::vector<double>(qkv.size())};
  const RandomStream stream(3, "dropout");
  const std::vector<uint8_t> padded = c.padded();
  kernels::attention_keys(c.sizes.B, c.sizes.T, padded.data(), a.seen.data(), a.kept.data());
  const kernels::AttentionKeys keys{a.seen.data(), c.padding ? a.kept.data() : nullptr};
  std::vector<double> scratch(static_cast<size_t>(kernels::attention_scratch(c.sizes, c.padding)));
  kernels::attention(c.sizes, keys, c.drop(stream), qkv.data(), a.y.data(), a.log_sum.data(), scratch.data());
  kernels::attention_backward(c.sizes, keys, c.drop(stream), dy.data(), qkv.data(), a.log_sum.data(), a.dqkv.data(),
                              scratch.data());
  const Bounds bounds{c, qkv, dy, roundoff, a};
  for (int64_t row = 0; row < c.rows() * c.sizes.H; ++row) {
    const int64_t b = row / c.sizes.T / c.sizes.H, h = row / c.sizes.T % c.sizes.H;
    bounds.row(b, h, row % c.sizes.T);
  }
  const auto add_rounding = [&](std::vector<double>& bound, const std::vector<double>& value) {
    for (size_t i = 0; i < bound.size(); ++i) {
      bound[i] += roundoff.stored * std::fabs(value[i]);
    }
  };
  add_rounding(a.y_bound, a.y);
  add_rounding(a.dqkv_bound, a.dqkv);
  return a;
}

}  // namespace ringlet::test
