// FSDP's idea on one parameter (FULL_SHARD; Zhao et al., 2023): between its uses a rank holds only its 1/P of it.
//
//   n elements on P ranks, S = ⌈n/P⌉:
//   shard     flatten, pad with zeros to P·S, keep elements [r·S, (r+1)·S)
//   unshard   all_gather the P slices, drop the padding, restore the shape: the same bits as before
//   reshard   let the whole go again
//
// Bytes per rank: 4S while sharded, 4S + 4PS while unsharded. Each unshard sends 4S to every other rank.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "apps/ddp_demo/minimal_ddp.h"
#include "collectives/communicator.h"
#include "nn/module.h"

namespace ringlet {

/// Takes the memory of an fp32 variable away and brings it back. (all): every rank calls it, in the same order.
class ShardedParameter {
 public:
  /// Shards at once. `comm` must outlive this.
  // [snippet: shard]
  ShardedParameter(const Var& parameter, Communicator& comm)
      : parameter_(parameter),
        comm_(comm),
        numel_(parameter.numel()),
        shard_numel_((parameter.numel() + comm.size() - 1) / comm.size()) {
    Tensor padded = Tensor::zeros({padded_numel()});
    padded.narrow(0, 0, numel_).copy_from(parameter.data().view({numel_}));
    shard_ = padded.narrow(0, comm.rank() * shard_numel_, shard_numel_).clone(Category::Parameters);
    reshard();
  }
  // [/snippet]

  /// (all) Until `reshard`, the variable can be used.
  // [snippet: unshard]
  void unshard() {
    Tensor padded = Tensor::empty({padded_numel()}, DType::F32, Category::Parameters);
    comm_.all_gather(memory_of(shard_), memory_of(padded));
    parameter_.set_data(padded.narrow(0, 0, numel_).view(parameter_.shape()));
  }

  // The shape stays, stretched over a single 0; the memory goes.
  void reshard() { parameter_.set_data(Tensor::zeros({}).expand(parameter_.shape())); }
  // [/snippet]

  int64_t padded_numel() const { return comm_.size() * shard_numel_; }

 private:
  Var parameter_;
  Communicator& comm_;
  int64_t numel_;
  int64_t shard_numel_;
  Tensor shard_;  // [S]
};

inline int64_t parameter_bytes_held() { return Allocator::current()->ledger().of(Category::Parameters).live; }

/// What came of it on this rank.
struct RoundTrip {
  int64_t bytes_before = 0;   // of parameters held while whole
  int64_t bytes_sharded = 0;  // and while sharded
  bool equal = true;          // unsharded, every parameter has the bits that it had
  bool counted = true;        // the bytes held are Σ 4n, then Σ 4S, then Σ (4S + 4PS) while unsharded, then Σ 4S again
};

/// (all) Shards every parameter of `model`, unshards, compares, and reshards: the model is left sharded. Bytes are those that the
/// allocator counts as parameters, so no other module may hold any.
// [snippet: round_trip]
inline RoundTrip fsdp_round_trip(Module& model, Communicator& comm) {
  RoundTrip trip;
  trip.bytes_before = parameter_bytes_held();
  std::vector<Tensor> originals;
  std::vector<ShardedParameter> sharded;
  int64_t padded_bytes = 0;
  for (const NamedParameter& parameter : model.parameters()) {
    originals.push_back(parameter.var.data().clone());
    sharded.emplace_back(parameter.var, comm);
    padded_bytes += 4 * sharded.back().padded_numel();
  }
  trip.bytes_sharded = parameter_bytes_held();
  for (ShardedParameter& parameter : sharded) {
    parameter.unshard();
  }
  const int64_t bytes_unsharded = parameter_bytes_held();
  const std::vector<NamedParameter> parameters = model.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor now = parameters[i].var.data().to(Device{}), then = originals[i].to(Device{});
    trip.equal = trip.equal && std::memcmp(now.raw_data(), then.raw_data(), static_cast<size_t>(then.bytes())) == 0;
  }
  for (ShardedParameter& parameter : sharded) {
    parameter.reshard();
  }
  trip.counted = trip.bytes_before == 4 * model.parameter_count() && trip.bytes_sharded * comm.size() == padded_bytes &&
                 bytes_unsharded == trip.bytes_sharded + padded_bytes && parameter_bytes_held() == trip.bytes_sharded;
  return trip;
}
// [/snippet]

}  // namespace ringlet
