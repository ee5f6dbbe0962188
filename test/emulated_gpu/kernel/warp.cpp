#include "test/emulated_gpu/device/warp.h"

#include <mma.h>

#include "test/emulated_gpu/kernel/block_runner.h"

namespace ringlet::emulated_gpu {

void wait_for_block(Site site) { BlockRunner::current().wait_for_block(site); }

void wait_for_lanes(uint32_t mask, Site site, void* argument, void (*together)(LaneArguments)) {
  BlockRunner::current().wait_for_lanes(mask, site, argument, together);
}

int count_in_block(bool predicate, Site site) { return BlockRunner::current().count_in_block(predicate, site); }

uint32_t ballot(uint32_t mask, bool predicate, Site site) {
  struct Vote {
    bool predicate;
    uint32_t result;
  } vote{predicate, 0};
  wait_for_lanes(mask, site, &vote, [](LaneArguments lanes) {
    uint32_t result = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (const auto* theirs = static_cast<const Vote*>(lanes[lane])) {
        result |= theirs->predicate ? 1U << lane : 0;
      }
    }
    for (int lane = 0; lane < 32; ++lane) {
      if (auto* theirs = static_cast<Vote*>(lanes[lane])) {
        theirs->result = result;
      }
    }
  });
  return vote.result;
}

}  // namespace ringlet::emulated_gpu

namespace nvcuda::wmma {

void multiply_together(ringlet::emulated_gpu::LaneArguments lanes) {
  float a[16][16], b[16][16];
  for (unsigned l = 0; l < 32; ++l) {
    const auto* lane = static_cast<const MmaLane*>(lanes[l]);
    for (int e = 0; lane != nullptr && e < 8; ++e) {
      const TilePlace place(l, e);
      a[place.row][place.column] = lane->a[e];
      b[place.row][place.column] = lane->b[e];
    }
  }
  for (unsigned l = 0; l < 32; ++l) {
    const auto* lane = static_cast<const MmaLane*>(lanes[l]);
    for (int e = 0; lane != nullptr && e < 8; ++e) {
      const TilePlace place(l, e);
      double sum = lane->c[e];
      for (int k = 0; k < 16; ++k) {
        sum += static_cast<double>(a[place.row][k]) * b[k][place.column];
      }
      lane->d[e] = static_cast<float>(sum);
    }
  }
}

}  // namespace nvcuda::wmma
