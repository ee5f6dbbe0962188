// All trainable parameters of a module one after another in one contiguous tensor (the flat parameter of FSDP: Zhao et al.,
// 2023), padded with zeros to a multiple of the number of shards. The module's variables become views of it, so one collective
// moves them all and a shard is a range, whatever parameters it cuts through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nn/module.h"
#include "optim/param_group.h"
#include "tensor/tensor.h"

namespace ringlet {

class FlatParameter {
 public:
  struct Entry {
    std::string name;
    Var var;
    int64_t offset = 0;  // of its first element in the flat tensor
    int64_t numel = 0;
    int group = 0;  // of weight decay; the shape is gone once flat
  };
  /// What an entry and a range of the flat tensor have in common.
  struct Overlap {
    int64_t begin_in_entry = 0;
    int64_t begin_in_range = 0;
    int64_t count = 0;  // may be 0
  };

  /// Takes those of `parameters` that require a gradient, in their order; frozen ones are left alone. They must be of one
  /// dtype.
  FlatParameter(const std::vector<NamedParameter>& parameters, int shards);

  int64_t numel() const { return numel_; }  // without padding
  int64_t padded_numel() const { return data_.numel(); }
  int64_t shard_numel() const { return padded_numel() / shards_; }
  /// Elements of a shard that are padding.
  int64_t padding_in(int shard) const;
  const std::vector<Entry>& entries() const { return entries_; }
  DType dtype() const { return data_.dtype(); }

  /// [padded_numel()], shared with the variables.
  const Tensor& data() const { return data_; }
  Tensor& data() { return data_; }
  Tensor shard(int rank) const { return data_.narrow(0, rank * shard_numel(), shard_numel()); }

  Overlap overlap(const Entry& entry, int64_t begin, int64_t end) const;
  /// One slice per entry, in order, and then one for the padding if the range reaches into it. `values` and `grads` stand for
  /// [begin, begin + values.numel()) of the flat tensor. A padding's gradient must be 0: then its value stays what it is.
  std::vector<ParamSlice> slices(const Tensor& values, const Tensor& grads, int64_t begin) const;
  /// The entry's elements in a flat tensor like `data()`, in its own shape.
  Tensor view(const Entry& entry, const Tensor& flat) const;

 private:
  std::vector<Entry> entries_;
  int64_t numel_ = 0;
  int shards_;
  Tensor data_;
};

}  // namespace ringlet
