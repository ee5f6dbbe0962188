#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "autograd/grad_mode.h"
#include "tensor/base/random.h"

namespace ringlet {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();

// An input while it is moved about. It gets back its value and its gradient at the end, also when f throws.
class MovedInput {
 public:
  explicit MovedInput(const Var& var) : var_(var), value_(var.data().to_vector()), grad_(var.grad()) {}
  ~MovedInput() {
    move(std::vector<double>(value_.size()), 0.0);
    var_.set_grad(grad_);
  }
  MovedInput(const MovedInput&) = delete;
  MovedInput& operator=(const MovedInput&) = delete;

  /// x = x₀ + t·v
  void move(const std::vector<double>& v, double t) {
    std::vector<double> x = value_;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] += t * v[i];
    }
    Tensor data = var_.data();
    data.write_bytes(reinterpret_cast<const std::byte*>(x.data()));
  }
  std::vector<double> position() const { return var_.data().to_vector(); }
  /// What a step along v is measured by: 1, or the largest |x₀| among the elements that move.
  double scale(const std::vector<double>& v) const {
    double largest = 1;
    for (size_t i = 0; i < v.size(); ++i) {
      largest = v[i] != 0 ? std::max(largest, std::abs(value_[i])) : largest;
    }
    return largest;
  }
  /// Takes the gradient away; zeros where none came.
  std::vector<double> take_gradient() {
    const Tensor grad = var_.grad();
    var_.clear_grad();
    return grad.defined() ? grad.to_vector() : std::vector<double>(value_.size());
  }

 private:
  Var var_;
  std::vector<double> value_;
  Tensor grad_;
};

struct Direction {
  std::string text;  // "at [1, 2]"
  std::vector<double> v;
};

// (f(x + h·v) − f(x − h·v)) / 2h, and what the rule's gradient says about the same displacement, one per output.
struct Slopes {
  std::vector<double> expected, got;
  double rounding = 0;  // a bound of what rounding of f adds to `expected`
};

// The largest error of one input, and where it is.
struct Worst {
  double error = 0, largest = 1, bound = 0;  // |a − n|; |n|, at least 1; truncation and rounding
  double got = 0, expected = 0;
  std::string input, output;

  void see(const Slopes& near, const Slopes& far, const Direction& direction,
           const std::function<std::string(size_t)>& output_text) {
    for (size_t j = 0; j < near.got.size(); ++j) {
      const double difference = std::abs(near.got[j] - near.expected[j]);
      largest = std::max(largest, std::abs(near.expected[j]));
      // n(2h) − n(h) = h²/2·f''' + rounding: three times the truncation h²/6·f''' of n(h).
      bound = std::max(bound, std::abs(far.expected[j] - near.expected[j]) + near.rounding);
      if (!(difference <= error)) {  // also NaN
        error = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
        got = near.got[j], expected = near.expected[j];
        input = direction.text, output = output_text(j);
      }
    }
  }
};

std::string index_text(int64_t i, const Shape& shape) {
  Shape index = shape;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = i % shape[d];
    i /= shape[d];
  }
  return to_text(index);
}

class Gradcheck {
 public:
  Gradcheck(const std::function<Var()>& f, std::span<const CheckedInput> inputs, const GradcheckOptions& options)
      : f_(f), inputs_(inputs), options_(options), draw_(options.seed, "gradcheck") {
    for (const CheckedInput& input : inputs) {
      check(input.var.requires_grad() && input.var.is_leaf() && input.var.dtype() == DType::F64 &&
                input.var.data().is_contiguous(),
            "gradcheck: input {} must be a contiguous f64 leaf that requires a gradient", input.name);
      moved_.emplace_back(input.var);
      Var(input.var).clear_grad();
    }
    differentiate();
  }

  Worst compare(size_t k) {
    Worst worst;
    for (const Direction& direction : directions(k)) {
      const double h = options_.step * moved_[k].scale(direction.v);
      const Slopes near = slopes(k, direction.v, h), far = slopes(k, direction.v, 2 * h);
      worst.see(near, far, direction, [&](size_t j) {
        return full_ ? "at " + index_text(static_cast<int64_t>(j), output_shape_) : std::string("combined at random");
      });
    }
    return worst;
  }

 private:
  // gradients_[k][r]: of output r with respect to input k, or of the one combination u of outputs.
  void differentiate() {
    const Var y = f_();
    check_dtype("gradcheck: the output", y.data(), DType::F64);
    output_shape_ = y.shape();
    const int64_t total = std::accumulate(inputs_.begin(), inputs_.end(), int64_t{0},
                                          [](int64_t sum, const CheckedInput& input) { return sum + input.var.numel(); });
    full_ = total <= options_.full_elements && y.numel() <= options_.full_elements;
    gradients_.resize(inputs_.size());
    u_.resize(static_cast<size_t>(y.numel()));
    const int64_t rows = full_ ? std::max<int64_t>(1, y.numel()) : 1;  // an empty output too: its backward must run
    for (int64_t r = 0; r < rows; ++r) {
      for (size_t j = 0; j < u_.size(); ++j) {
        u_[j] = full_ ? (static_cast<int64_t>(j) == r ? 1.0 : 0.0) : draw_.normal(j);
      }
      if (y.requires_grad()) {
        Tensor seed = Tensor::empty(y.data().device(), output_shape_, DType::F64);
        seed.write_bytes(reinterpret_cast<const std::byte*>(u_.data()));
        backward(y, seed, true);
      }
      for (size_t k = 0; k < inputs_.size(); ++k) {
        gradients_[k].push_back(moved_[k].take_gradient());
      }
    }
  }

  std::vector<Direction> directions(size_t k) const {
    const Shape shape = inputs_[k].var.shape();
    const auto n = static_cast<size_t>(shape.numel());
    std::vector<Direction> all;
    const auto add_element = [&](size_t i) {
      all.push_back({"at " + index_text(static_cast<int64_t>(i), shape), std::vector<double>(n)});
      all.back().v[i] = 1;
    };
    if (full_ || n == 0) {
      for (size_t i = 0; i < n; ++i) {
        add_element(i);
      }
      return all;
    }
    const RandomStream draw(options_.seed, "gradcheck/" + inputs_[k].name);
    for (int d = 0; d < options_.directions; ++d) {
      all.push_back({message("along random direction {}", d), std::vector<double>(n)});
      for (size_t i = 0; i < n; ++i) {
        all.back().v[i] = (draw.bits(static_cast<uint64_t>(d) * n + i) & 1U) != 0 ? 1 : -1;
      }
    }
    for (int c = 0; c < options_.coordinates; ++c) {
      add_element(static_cast<size_t>(draw.below((uint64_t{1} << 40U) + static_cast<uint64_t>(c), n)));
    }
    return all;
  }

  Slopes slopes(size_t k, const std::vector<double>& v, double h) {
    Slopes result;
    double size = 0;
    moved_[k].move(v, h);
    const std::vector<double> right = moved_[k].position(), f_right = outputs(size);
    moved_[k].move(v, -h);
    const std::vector<double> left = moved_[k].position(), f_left = outputs(size);
    moved_[k].move(v, 0);
    result.rounding = 4 * kEps * size / h;
    for (size_t j = 0; j < f_right.size(); ++j) {
      double slope = 0;
      for (size_t i = 0; i < v.size(); ++i) {
        slope += v[i] != 0 ? gradients_[k][j][i] * ((right[i] - left[i]) / (2 * h))
                           : 0;  // as far as x really went: x ± h is rounded
      }
      result.got.push_back(slope);
      result.expected.push_back((f_right[j] - f_left[j]) / (2 * h));
    }
    return result;
  }

  // All elements of f, or their one combination; `size` grows to the largest of the numbers added up.
  std::vector<double> outputs(double& size) const {
    const NoGrad no_grad;
    const std::vector<double> y = f_().data().to_vector();
    double combination = 0, magnitude = 0;
    for (size_t j = 0; j < y.size(); ++j) {
      combination += u_[j] * y[j];
      magnitude += std::abs(u_[j] * y[j]);
      size = full_ ? std::max(size, std::abs(y[j])) : size;
    }
    size = full_ ? size : std::max(size, magnitude);
    return full_ ? y : std::vector<double>{combination};
  }

  const std::function<Var()>& f_;
  std::span<const CheckedInput> inputs_;
  GradcheckOptions options_;
  RandomStream draw_;
  std::deque<MovedInput> moved_;
  bool full_ = true;
  Shape output_shape_;
  std::vector<double> u_;
  std::vector<std::vector<std::vector<double>>> gradients_;
};

}  // namespace

GradcheckResult gradcheck(std::string_view op, const std::function<Var()>& f, std::span<const CheckedInput> inputs,
                          const GradcheckOptions& options) {
  Gradcheck checker(f, inputs, options);
  GradcheckResult result{.ok = true, .worst = 0, .bound = options.tolerance, .text = {}};
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Worst worst = checker.compare(k);
    const double error = worst.error / worst.largest, bound = std::max(options.tolerance, worst.bound / worst.largest);
    if (!(error <= bound) && result.ok) {
      result.ok = false;
      result.text = message("gradcheck: {}: input {} {}, output {}: got {}, expected {} (error {}, bound {})", op,
                            inputs[k].name, worst.input, worst.output, worst.got, worst.expected, error, bound);
    }
    result.worst = std::max(result.worst, error);
    result.bound = std::max(result.bound, bound);
  }
  if (result.ok) {
    result.text = message("gradcheck: {}: error {} within {}{}", op, result.worst, result.bound,
                          result.bound > options.tolerance ? ", the computed bound of truncation and rounding" : "");
  }
  return result;
}

}  // namespace ringlet
