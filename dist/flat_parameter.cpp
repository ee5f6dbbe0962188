#include "dist/flat_parameter.h"

#include <algorithm>

namespace ringlet {

FlatParameter::FlatParameter(const std::vector<NamedParameter>& parameters, int shards) : shards_(shards) {
  check(shards > 0, "flat parameter: needs at least one shard, got {}", shards);
  for (const NamedParameter& parameter : parameters) {
    if (!parameter.var.requires_grad()) {
      continue;
    }
    const int64_t numel = parameter.var.numel();
    entries_.push_back(
        {parameter.name, parameter.var, numel_, numel, decays(parameter.var.shape()) ? kDecayGroup : kNoDecayGroup});
    numel_ += numel;
  }
  check(!entries_.empty(), "flat parameter: the module has no trainable parameter");
  const Entry& first = entries_.front();
  const DType dtype = first.var.dtype();
  data_ = Tensor::zeros(first.var.data().device(), {(numel_ + shards - 1) / shards * shards}, dtype, Category::Parameters);
  for (Entry& entry : entries_) {
    check(entry.var.dtype() == dtype, "flat parameter: all parameters must have one dtype; {} has {}, {} has {}", first.name,
          dtype, entry.name, entry.var.dtype());
    Tensor place = view(entry, data_);
    place.copy_from(entry.var.data());
    entry.var.set_data(place);
  }
}

int64_t FlatParameter::padding_in(int shard) const {
  return std::clamp<int64_t>((shard + 1) * shard_numel() - numel_, 0, shard_numel());
}

FlatParameter::Overlap FlatParameter::overlap(const Entry& entry, int64_t begin, int64_t end) const {
  const int64_t from = std::clamp(entry.offset, begin, end);
  const int64_t to = std::clamp(entry.offset + entry.numel, begin, end);
  return {std::clamp<int64_t>(from - entry.offset, 0, entry.numel), from - begin, to - from};
}

std::vector<ParamSlice> FlatParameter::slices(const Tensor& values, const Tensor& grads, int64_t begin) const {
  const int64_t end = begin + values.numel();
  std::vector<ParamSlice> slices;
  for (const Entry& entry : entries_) {
    const Overlap part = overlap(entry, begin, end);
    slices.push_back({entry.name, values.narrow(0, part.begin_in_range, part.count),
                      grads.narrow(0, part.begin_in_range, part.count), entry.group});
  }
  if (const int64_t padding = end - std::max(begin, std::min(numel_, end)); padding > 0) {
    const int64_t at = values.numel() - padding;
    slices.push_back({"(padding)", values.narrow(0, at, padding), grads.narrow(0, at, padding), kNoDecayGroup});
  }
  return slices;
}

Tensor FlatParameter::view(const Entry& entry, const Tensor& flat) const {
  return flat.narrow(0, entry.offset, entry.numel).view(entry.var.shape());
}

}  // namespace ringlet
