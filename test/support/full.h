// How often, how much: a share in ./check, and all of it with RINGLET_FULL.
#pragma once

namespace ringlet::test {

#if defined(RINGLET_FULL)
inline constexpr bool kFull = true;
#else
inline constexpr bool kFull = false;
#endif
constexpr int times(int share, int all) { return kFull ? all : share; }

}  // namespace ringlet::test
