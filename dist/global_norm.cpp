#include "dist/global_norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "collectives/control_scope.h"
#include "dist/collective_ops.h"
#include "tensor/kernels/table.h"
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
  check(x.is_contiguous(), "norm: needs contiguous elements, got shape {} with strides {}", x.shape(), x.strides());
  const kernels::Tables& tables = kernels::tables_on(x.device().kind);
  kernels::SquareLimbs* sum = x.device() == Device{} ? &exact_ : limbs_on(x.device());
  if (x.dtype() == DType::F32) {
    tables.f32.square_sum(x.data<float>(), x.numel(), sum);
  } else {
    tables.b16.square_sum(x.data<bf16>(), x.numel(), sum);
  }
}

// A device adds into limbs of its own, which are fetched when the sum is asked for.
kernels::SquareLimbs* SquareSum::limbs_on(Device device) {
  if (!on_device_.defined()) {
    on_device_ = Tensor::zeros(device, {sizeof(kernels::SquareLimbs) / sizeof(uint64_t)}, DType::I64);
  }
  return reinterpret_cast<kernels::SquareLimbs*>(on_device_.mutable_data<int64_t>());
}

SquareSum SquareSum::fetched() const {
  SquareSum all = *this;
  if (on_device_.defined()) {
    kernels::SquareLimbs fetched{};
    const Tensor words = on_device_.to(Device{});
    std::memcpy(&fetched, words.raw_data(), sizeof fetched);
    for (int k = 0; k < kLimbs; ++k) {
      all.exact_.limbs[k] += fetched.limbs[k];
    }
    all.exact_.infinities += fetched.infinities;
    all.exact_.nans += fetched.nans;
    all.on_device_ = Tensor();
  }
  return all;
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
  SquareSum sum = fetched();
  sum.carry();
  std::array<double, kWords> words{};
  for (size_t k = 0; k < kLimbs; ++k) {
    words[k] = static_cast<double>(sum.exact_.limbs[k]);
  }
  words[kLimbs] = static_cast<double>(sum.exact_.infinities);
  words[kLimbs + 1] = static_cast<double>(sum.exact_.nans);
  words[kLimbs + 2] = sum.wide_;
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
  SquareSum sum = fetched();
  if (sum.exact_.nans > 0 || std::isnan(wide_)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (sum.exact_.infinities > 0) {
    return std::numeric_limits<double>::infinity();
  }
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
