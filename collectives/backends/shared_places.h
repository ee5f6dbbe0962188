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
  /// How one buffer of one rank is reached: in the arena, in the memory of its rank, or not at all. One that does not exist is
  /// reached by all.
  struct Place {
    std::byte* here = nullptr;
    uint64_t there = 0;
    bool reached = false;
    bool in_arena() const { return reached && there == 0; }
  };

  /// (all) Shows the others where this rank's buffers are, and finds theirs. One phase. Where `lends`, buffers that are not in the
  /// arena may be read where they are, if the kernel hands them out.
  SharedPlaces(SharedStaging& shared, const Call& call, bool lends);

  const std::vector<Place>& inputs() const { return in_; }
  const std::vector<Place>& outputs() const { return out_; }

  /// Copies from byte `offset` on of a buffer of rank r.
  void take_input(int r, size_t offset, std::span<std::byte> to) const { take(r, in_, offset, to); }
  void take_output(int r, size_t offset, std::span<std::byte> to) const { take(r, out_, offset, to); }

 private:
  void take(int r, const std::vector<Place>& places, size_t offset, std::span<std::byte> to) const;

  SharedStaging& shared_;
  std::vector<Place> in_{}, out_{};
};

}  // namespace ringlet
