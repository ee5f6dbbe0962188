// The static __shared__ arrays of the kernels of one library, as the calling host thread has them.
#pragma once

#include <cstddef>
#include <vector>

namespace ringlet::emulated_gpu {

/// While one lives, they hold 0xff bytes (NaN) until a kernel writes them: a value read before it was written shows. They are
/// variables of the host thread and lie among those of host code in the same library, which are put back at the end.
class StaticShared {
 public:
  /// Those of the library that holds `kernel`.
  explicit StaticShared(const void* kernel);
  ~StaticShared();
  StaticShared(const StaticShared&) = delete;
  StaticShared& operator=(const StaticShared&) = delete;

  void* begin() const { return begin_; }
  size_t bytes() const { return before_.size(); }

 private:
  void* begin_ = nullptr;
  std::vector<char> before_;
};

}  // namespace ringlet::emulated_gpu
