#include "tensor/kernels/cuda/scratch.h"

#include <algorithm>
#include <vector>

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {
namespace {

struct Piece {
  int device;
  size_t bytes;
  void* begin;
};

class Pieces {
 public:
  ~Pieces() {
    for (const Piece& piece : pieces_) {
      (void)cudaFree(piece.begin);  // waits for the kernels that use it; at the end of a program CUDA may be gone already
    }
  }
  std::byte* at_least(size_t bytes) {
    int device = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    size_t largest = 0;
    for (const Piece& piece : pieces_) {
      if (piece.device == device && piece.bytes >= bytes) {
        return static_cast<std::byte*>(piece.begin);
      }
      largest = piece.device == device ? std::max(largest, piece.bytes) : largest;
    }
    // Twice the last one at least: all pieces together are then at most twice the largest.
    constexpr size_t kFirst = size_t{1} << 20;
    const size_t size = std::max({kFirst, 2 * largest, bytes});
    void* begin = nullptr;
    check_cuda(cudaMalloc(&begin, size), "cudaMalloc");
    pieces_.push_back({device, size, begin});
    return static_cast<std::byte*>(begin);
  }

 private:
  std::vector<Piece> pieces_;
};

}  // namespace

std::byte* scratch(size_t bytes) {
  thread_local Pieces pieces;
  return pieces.at_least(bytes);
}

}  // namespace ringlet::kernels::cuda
