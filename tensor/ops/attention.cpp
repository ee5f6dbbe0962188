#include "tensor/ops/attention.h"

#include "tensor/ops/dispatch.h"

namespace ringlet {
namespace {

kernels::AttentionSizes check_sizes(std::string_view who, const Tensor& qkv, int64_t heads, const Tensor& key_padding) {
  check(qkv.rank() == 3 && qkv.dim(2) % 3 == 0, "{}: qkv must be [B, T, 3C], got {}", who, qkv.shape());
  const int64_t C = qkv.dim(2) / 3;
  check(heads > 0 && C > 0 && C % heads == 0, "{}: {} heads do not divide C = {}", who, heads, C);
  if (key_padding.defined()) {
    check_shape(message("{}: key_padding", who), key_padding, {qkv.dim(0), qkv.dim(1)});
    check_dtype(message("{}: key_padding", who), key_padding, DType::U8);
  }
  return {.B = qkv.dim(0), .T = qkv.dim(1), .H = heads, .D = C / heads};
}

// [2, B, T]: how many keys each row sees, and the positions of the keys that are no padding, in front of each row.
Tensor number_keys(const kernels::AttentionSizes& s, Device device, const Tensor& key_padding) {
  Tensor numbered = Tensor::empty(device, {2, s.B, s.T}, DType::I32);
  const Tensor padding = key_padding.defined() ? key_padding.contiguous() : Tensor();
  int32_t* seen = numbered.mutable_data<int32_t>();
  kernels::tables_on(device.kind)
      .attention_keys(s.B, s.T, padding.defined() ? padding.data<uint8_t>() : nullptr, seen, seen + s.B * s.T);
  return numbered;
}

kernels::AttentionKeys keys_of(const Tensor& numbered, const Tensor& key_padding) {
  const int32_t* seen = numbered.data<int32_t>();
  return {seen, key_padding.defined() ? seen + numbered.numel() / 2 : nullptr};
}

Tensor scratch_for(const kernels::AttentionSizes& s, const Tensor& qkv, const Tensor& key_padding) {
  return Tensor::empty(qkv.device(), {kernels::tables_on(qkv.device().kind).attention_scratch(s, key_padding.defined())},
                       qkv.dtype());
}

void check_probability(std::string_view who, double p) {
  check(p >= 0.0 && p < 1.0, "{}: the probability of dropout must be at least 0 and below 1, got {}", who, p);
}

}  // namespace

Attended attention(const Tensor& qkv, int64_t heads, const Tensor& key_padding, const AttentionDropout& dropout) {
  const kernels::AttentionSizes s = check_sizes("attention", qkv, heads, key_padding);
  check_probability("attention", dropout.probability);
  check_same_device("attention", qkv, {&key_padding});
  const Tensor rows = qkv.contiguous(), keys = number_keys(s, qkv.device(), key_padding);
  const RandomStream stream(dropout.seed, dropout.purpose, dropout.index);
  return with_kernels("attention", qkv, [&]<typename T>(const kernels::Table<T>& kernel) {
    Attended out{Tensor::empty(qkv.device(), {s.B, s.T, s.H * s.D}, qkv.dtype()),
                 Tensor::empty(qkv.device(), {s.B, s.H, s.T}, DType::F64)};
    if (qkv.numel() == 0) {
      return out;
    }
    Tensor scratch = scratch_for(s, qkv, key_padding);
    kernel.attention(s, keys_of(keys, key_padding), {dropout.probability, &stream}, rows.data<T>(), out.y.mutable_data<T>(),
                     out.log_sum.mutable_data<double>(), scratch.mutable_data<T>());
    return out;
  });
}

Tensor attention_backward(const Tensor& dy, const Tensor& qkv, const Attended& forward, int64_t heads,
                          const Tensor& key_padding, const AttentionDropout& dropout) {
  const kernels::AttentionSizes s = check_sizes("attention_backward", qkv, heads, key_padding);
  check_probability("attention_backward", dropout.probability);
  check_same_device("attention_backward", qkv, {&dy, &forward.log_sum, &key_padding});
  check_shape("attention_backward: dy", dy, {s.B, s.T, s.H * s.D});
  check_dtype("attention_backward: dy", dy, qkv.dtype());
  check_shape("attention_backward: log_sum", forward.log_sum, {s.B, s.H, s.T});
  const Tensor rows = qkv.contiguous(), gradient = dy.contiguous(), keys = number_keys(s, qkv.device(), key_padding);
  const RandomStream stream(dropout.seed, dropout.purpose, dropout.index);
  return with_kernels("attention_backward", qkv, [&]<typename T>(const kernels::Table<T>& kernel) {
    Tensor dqkv = Tensor::zeros(qkv.device(), qkv.shape(), qkv.dtype());
    if (qkv.numel() == 0) {
      return dqkv;
    }
    Tensor scratch = scratch_for(s, qkv, key_padding);
    kernel.attention_backward(s, keys_of(keys, key_padding), {dropout.probability, &stream}, gradient.data<T>(), rows.data<T>(),
                              forward.log_sum.data<double>(), dqkv.mutable_data<T>(), scratch.mutable_data<T>());
    return dqkv;
  });
}

}  // namespace ringlet
