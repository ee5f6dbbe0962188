#include "dist/global_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/control_scope.h"
#include "dist/collective_ops.h"
#include "tensor/ops/reduce.h"

namespace ringlet {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

void SquareSum::add(const Tensor& x) {
  if (x.dtype() == DType::F64) {
    wide_ += squared_norm(x);
    return;
  }
  check(x.dtype() == DType::F32 || x.dtype() == DType::BF16, "norm: needs f32, bf16 or f64, got {}", x.dtype());
  const auto add_all = [this](auto elements) {
    kernels::square_sum(elements.data(), static_cast<int64_t>(elements.size()), &exact_);
  };
  x.dtype() == DType::F32 ? add_all(x.span<float>()) : add_all(x.span<bf16>());
}

// Afterwards every limb is below 2^32. They stay far from 2^64 for 2^42 elements without it.
void SquareSum::carry() {
  uint64_t over = 0;
  for (uint64_t& limb : exact_.limbs) {
    limb += over;
    over = limb >> 32;
    limb &= 0xffffffffU;
  }
}

std::array<double, SquareSum::kWords> SquareSum::words() const {
  SquareSum sum = *this;
  sum.carry();
  std::array<double, kWords> words{};
  for (size_t k = 0; k < kLimbs; ++k) {
    words[k] = static_cast<double>(sum.exact_.limbs[k]);
  }
  words[kLimbs] = static_cast<double>(exact_.infinities);
  words[kLimbs + 1] = static_cast<double>(exact_.nans);
  words[kLimbs + 2] = wide_;
  return words;
}

SquareSum SquareSum::from_words(std::span<const double, kWords> words) {
  SquareSum sum;
  for (size_t k = 0; k < kLimbs; ++k) {
    sum.exact_.limbs[k] = static_cast<uint64_t>(words[k]);
  }
  sum.exact_.infinities = static_cast<uint64_t>(words[kLimbs]);
  sum.exact_.nans = static_cast<uint64_t>(words[kLimbs + 1]);
  sum.wide_ = words[kLimbs + 2];
  return sum;
}

double SquareSum::norm() const {
  if (exact_.nans > 0 || std::isnan(wide_)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (exact_.infinities > 0) {
    return std::numeric_limits<double>::infinity();
  }
  SquareSum sum = *this;
  sum.carry();
  int top = kLimbs - 1;
  while (top > 2 && sum.exact_.limbs[static_cast<size_t>(top)] == 0) {
    --top;
  }
  // The three highest limbs hold at least 65 bits of the sum; any bit below them decides a tie, so it is remembered in the
  // last.
  Wide highest = 0;
  for (int k = top; k >= top - 2; --k) {
    highest = (highest << 32) | sum.exact_.limbs[static_cast<size_t>(k)];
  }
  for (int k = top - 3; k >= 0; --k) {
    highest |= sum.exact_.limbs[static_cast<size_t>(k)] != 0 ? 1U : 0U;
  }
  return std::sqrt(std::ldexp(static_cast<double>(highest), 32 * (top - 2) - 300) + wide_);
}

double global_norm(std::span<const Tensor> tensors) {
  SquareSum sum;
  for (const Tensor& tensor : tensors) {
    sum.add(tensor);
  }
  return sum.norm();
}

double global_norm(Communicator& comm, std::span<const Tensor> shards) {
  SquareSum sum;
  for (const Tensor& shard : shards) {
    sum.add(shard);
  }
  std::array<double, SquareSum::kWords> words = sum.words();
  const ControlScope control(comm);
  comm.all_reduce(words, ReduceOp::Sum);
  return SquareSum::from_words(words).norm();
}

}  // namespace ringlet
