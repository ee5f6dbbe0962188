#include "autograd/ops/shape.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "autograd/record.h"
#include "tensor/ops/masked_fill.h"
#include "tensor/ops/reduce.h"

namespace ringlet {
namespace {

// y = x in another shape                      dx = dy in the old one
struct ReshapeRule {
  static constexpr std::string_view kName = "reshape";
  Shape x_shape;
  Grads backward(const Tensor& dy) const { return {dy.reshape(x_shape)}; }
};

// y = x with two dims exchanged               dx = dy with the same two exchanged
struct TransposeRule {
  static constexpr std::string_view kName = "transpose";
  int dim0, dim1;
  Grads backward(const Tensor& dy) const { return {dy.transpose(dim0, dim1)}; }
};

// dim i of y is dim order[i] of x             dx: dim order[i] is dim i of dy
struct PermuteRule {
  static constexpr std::string_view kName = "permute";
  std::array<int, kMaxDims> order;

  Grads backward(const Tensor& dy) const {
    std::array<int, kMaxDims> label = order;  // which dim of x stands at each place
    Tensor dx = dy;
    for (int i = 0; i < dy.rank(); ++i) {
      while (label[static_cast<size_t>(i)] != i) {  // every exchange brings one dim home
        const int home = label[static_cast<size_t>(i)];
        dx = dx.transpose(i, home);
        std::swap(label[static_cast<size_t>(i)], label[static_cast<size_t>(home)]);
      }
    }
    return {dx};
  }
};

// y = entries start … start + length of x     dx: dy there, zero elsewhere
struct NarrowRule {
  static constexpr std::string_view kName = "narrow";
  Shape x_shape;
  int dim;
  int64_t start;

  Grads backward(const Tensor& dy) const {
    Tensor dx = Tensor::zeros(dy.device(), x_shape, dy.dtype());
    dx.narrow(dim, start, dy.dim(dim)).copy_from(dy);
    return {dx};
  }
};

// y = x stretched                             dx = dy summed over the stretched dims
struct ExpandRule {
  static constexpr std::string_view kName = "expand";
  Shape x_shape;
  Grads backward(const Tensor& dy) const { return {sum_to(dy, x_shape)}; }
};

// y = x₀ | x₁ | …                             dxᵢ = its entries of dy
struct ConcatRule {
  static constexpr std::string_view kName = "concat";
  int dim;
  std::vector<int64_t> lengths;

  Grads backward(const Tensor& dy) const {
    Grads grads;
    int64_t start = 0;
    for (const int64_t length : lengths) {
      grads.push_back(dy.narrow(dim, start, length));
      start += length;
    }
    return grads;
  }
};

// y = c where m, else x                       dx = 0 where m, else dy
struct MaskedFillRule {
  static constexpr std::string_view kName = "masked_fill";
  Saved mask;
  Grads backward(const Tensor& dy) const { return {masked_fill(dy, mask, 0.0)}; }
};

}  // namespace

Var reshape(const Var& x, const Shape& shape) {
  return record(x.data().reshape(shape), {x}, ReshapeRule{.x_shape = x.shape()});
}

Var transpose(const Var& x, int dim0, int dim1) {
  return record(x.data().transpose(dim0, dim1), {x}, TransposeRule{.dim0 = dim0, .dim1 = dim1});
}

Var permute(const Var& x, std::initializer_list<int> order) {
  const Tensor y = x.data().permute(order);
  PermuteRule rule{};
  std::copy(order.begin(), order.end(), rule.order.begin());
  return record(y, {x}, rule);
}

Var narrow(const Var& x, int dim, int64_t start, int64_t length) {
  return record(x.data().narrow(dim, start, length), {x}, NarrowRule{.x_shape = x.shape(), .dim = dim, .start = start});
}

Var expand(const Var& x, const Shape& shape) { return record(x.data().expand(shape), {x}, ExpandRule{.x_shape = x.shape()}); }

Var concat(std::span<const Var> parts, int dim) {
  check(!parts.empty(), "concat: needs at least one part");
  ConcatRule rule{.dim = dim, .lengths = {}};
  int64_t total = 0;
  for (const Var& part : parts) {
    check(part.rank() == parts[0].rank() && part.shape().with(dim, 0) == parts[0].shape().with(dim, 0),
          "concat: extents other than dim {} differ, {} and {}", dim, parts[0].shape(), part.shape());
    check_dtype("concat: part", part.data(), parts[0].dtype());
    rule.lengths.push_back(part.dim(dim));
    total += part.dim(dim);
  }
  const Tensor y = Tensor::empty(parts[0].data().device(), parts[0].shape().with(dim, total), parts[0].dtype());
  int64_t start = 0;
  for (const Var& part : parts) {
    y.narrow(dim, start, part.dim(dim)).copy_from(part.data());
    start += part.dim(dim);
  }
  return record(y, parts, std::move(rule));
}

Var concat(std::initializer_list<Var> parts, int dim) { return concat(std::span<const Var>(parts.begin(), parts.size()), dim); }

Var masked_fill(const Var& x, const Tensor& mask, double value) {
  return record(masked_fill(x.data(), mask, value), {x}, MaskedFillRule{.mask = mask});
}

}  // namespace ringlet
