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

#include "autograd/variable.h"
#include "collectives/communicator.h"

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
    comm_.all_gather(shard_.span<float>(), padded.mutable_span<float>());
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

}  // namespace ringlet
