// What DataParallel says of its parameters between steps: norm, hash, state.
#include <algorithm>
#include <utility>

#include "collectives/control_scope.h"
#include "dist/agreement.h"
#include "dist/collective_ops.h"
#include "dist/data_parallel.h"
#include "dist/parameter_hash.h"
#include "tensor/base/gpu.h"
#include "tensor/base/hash.h"

namespace ringlet {

double DataParallel::parameter_norm() {
  SquareSum sum;
  for (const auto& unit : units_) {
    sum.add(unit->parameter.data());  // padding is 0
  }
  add_frozen(sum);
  return sum.norm();
}

void DataParallel::add_frozen(SquareSum& sum) const {
  for (const NamedParameter& parameter : frozen_) {
    sum.add(parameter.var.data().contiguous());
  }
}

uint64_t DataParallel::parameter_hash() {
  uint64_t hash = 0;
  for (const NamedParameter& parameter : frozen_) {
    hash += ringlet::parameter_hash(parameter.name, 0, parameter.var.data().contiguous());
  }
  for (size_t u = 0; u < units_.size(); ++u) {
    unshard(u);
    for (const FlatParameter::Entry& entry : units_[u]->parameter.entries()) {
      hash += ringlet::parameter_hash(entry.name, 0, entry.var.data());
    }
    reshard(u);
  }
  last_hash_ = hash;
  return hash;
}

// A replica that is changed between updates computes a wrong gradient, and then it is overwritten: afterwards all are equal. So it is
// compared with itself before. Once more the time of a hash, and no byte.
void DataParallel::look_for_drift() {
  if (const std::optional<uint64_t> before = last_hash_; before && overwrites_replicas()) {
    drifted_ = drifted_ || parameter_hash() != *before;
  }
}

// A rank that has drifted comes with a hash that no other has.
bool DataParallel::replicas_equal(uint64_t hash) {
  const bool drifted = std::exchange(drifted_, false);
  return same_on_all_ranks(comm_, drifted ? mix64(hash + static_cast<uint64_t>(comm_.rank())) : hash) && !drifted;
}

std::vector<DataParallel::Fixed> DataParallel::fixed_tensors() const {
  std::vector<Fixed> fixed;
  const auto add = [&](const std::string& name, const std::string& kind, const Tensor& tensor) {
    fixed.push_back({name, kind, tensor, static_cast<int>(fixed.size()) % comm_.size()});
  };
  for (const NamedParameter& parameter : frozen_) {
    add(parameter.name, "frozen", parameter.var.data());
  }
  for (const NamedBuffer& buffer : buffers_) {
    add(buffer.name, "buffer", buffer.tensor);
  }
  return fixed;
}

std::vector<StatePiece> DataParallel::state() {
  if (options_.offload_to_host) {
    gpu().synchronize();  // the device may still be reading what the caller is free to overwrite
  }
  std::vector<StatePiece> pieces;
  const auto add = [&](const FlatParameter::Entry& entry, const std::string& kind, int64_t begin, const Tensor& data) {
    pieces.push_back({entry.name, kind, entry.var.shape(), begin, saves() ? data : data.narrow(0, 0, 0)});
  };
  for_each_entry([&](size_t u, size_t e, size_t) {
    const FlatParameter& parameter = units_[u]->parameter;
    const FlatParameter::Overlap mine = shard_overlap(parameter, e, cut_.mine);
    add(parameter.entries()[e], "master", mine.begin_in_entry, master_shard(u).narrow(0, mine.begin_in_range, mine.count));
  });
  for (size_t kind = 0; kind < optimizer_->state_kinds().size(); ++kind) {
    for_each_entry([&](size_t u, size_t e, size_t slice) {
      const FlatParameter& parameter = units_[u]->parameter;
      const FlatParameter::Overlap mine = shard_overlap(parameter, e, cut_.mine);
      add(parameter.entries()[e], optimizer_->state_kinds()[kind], mine.begin_in_entry,
          optimizer_state_shard(kind, slice, mine));
    });
  }
  for (const Fixed& fixed : fixed_tensors()) {
    const int64_t count = fixed.owner == comm_.rank() ? fixed.tensor.numel() : 0;
    pieces.push_back(
        {fixed.name, fixed.kind, fixed.tensor.shape(), 0, fixed.tensor.view({fixed.tensor.numel()}).narrow(0, 0, count)});
  }
  return pieces;
}

void DataParallel::adopt_state(int64_t updates) {
  check_not_summoned("adopt_state");
  skip();
  steps_ = 0;
  last_lr_ = 0.0;
  last_hash_.reset();
  drifted_ = false;
  optimizer_->set_updates(updates);
  spread_state();
  for (const Fixed& fixed : fixed_tensors()) {
    broadcast(comm_, fixed.tensor, fixed.owner);
  }
}

int64_t DataParallel::fixed_bytes() const {
  int64_t bytes = 0;
  for (const Fixed& fixed : fixed_tensors()) {
    bytes += fixed.tensor.bytes();
  }
  return bytes;
}

MemoryFormula DataParallel::whole_model_formula(int64_t optimizer_bytes) const {
  const int64_t flat = unit().parameter.data().bytes();
  MemoryFormula formula{
      .parameters = flat + fixed_bytes(), .gradients = unit().gradient.copies() * flat, .optimizer = optimizer_bytes};
  formula.padding = padding_bytes(unit());
  formula.parameters_peak = formula.parameters_built = formula.parameters;
  formula.gradients_peak = formula.gradients;
  add_offloaded(formula, 0);
  return formula;
}

void DataParallel::add_communication(MemoryFormula& formula, const Communicator& group, Operation operation, int64_t elements,
                                     int64_t travelling) const {
  const Tensor& parameter = units_.front()->parameter.data();
  const auto scratch = [&](Operation one, DType dtype) {
    return group.scratch_bytes(formula_call(one, elements, dtype, group.size(), parameter.device()));
  };
  const bool rounded = options_.bf16_gradients;
  int64_t most = scratch(operation, rounded ? DType::BF16 : parameter.dtype()) + (rounded ? 2 * travelling : 0);
  if (operation == Operation::ReduceScatter) {
    most = std::max(most, scratch(Operation::AllGather, parameter.dtype()));
  }
  formula.communication = std::max(formula.communication, most);
}

void DataParallel::add_offloaded(MemoryFormula& formula, int64_t parameters) const {
  if (offload_ == nullptr) {
    return;
  }
  formula.offloaded = {.parameters = parameters, .gradients = 0, .optimizer = formula.optimizer};
  for (const HostCopy& gradient : gradients_on_host_) {
    formula.offloaded.gradients += gradient.on_host.bytes();
  }
  formula.gradients += formula.offloaded.gradients;
  formula.gradients_peak += formula.offloaded.gradients;
}

void DataParallel::make_whole(bool whole) {
  check(phase_ == Phase::Accumulating && rounds_ == 0, "summon: parameters may be summoned between steps, not within one");
  for (size_t u = 0; u < units_.size(); ++u) {
    whole ? unshard(u) : reshard(u);
  }
  summoned_ += whole ? 1 : -1;
}

}  // namespace ringlet
