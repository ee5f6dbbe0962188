// Where the buffers of a call are, and how the other ranks reach them: in the arena, or each in its rank's own memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/call.h"
#include "collectives/transports/shared_staging.h"

namespace ringlet {

class SharedPlaces {
 public:
  /// (all) Shows the others where this rank's buffers are, and finds theirs. One phase. Buffers that are not in the arena are shown
  /// where `lends`.
  SharedPlaces(SharedStaging& shared, const Call& call, bool lends);

  /// All buffers of all ranks are in the arena.
  bool all_here() const { return all_here_; }
  /// All inputs can be copied from, of `root` or where it is −1 of all ranks.
  bool all_reached(int root) const;

  /// In the arena. Null where rank r has no such buffer.
  const std::byte* input(int r) const { return in_[static_cast<size_t>(r)].here; }
  const std::vector<std::byte*>& outputs() const { return out_; }

  /// Copies the input of rank r from byte `offset` on. False where the kernel does not hand it out.
  bool take(int r, size_t offset, std::span<std::byte> to) const;

 private:
  struct Input {
    const std::byte* here = nullptr;  // in the arena
    uint64_t there = 0;               // in the memory of its rank
    bool reached = false;
  };
  SharedStaging& shared_;
  bool all_here_ = true;
  std::vector<Input> in_{};
  std::vector<std::byte*> out_{};
};

}  // namespace ringlet
