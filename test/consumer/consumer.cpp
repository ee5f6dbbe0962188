// Links the installed library and finds the hash that xxHash publishes for the empty input.
#include <iostream>

#include "tensor/base/build_info.h"
#include "tensor/base/hash.h"

int main() {
  const bool right = ringlet::hash_text("") == 0x2d06800538d394c2ULL;
  std::cout << "ringlet " << ringlet::build_info().version << (right ? ": linked" : ": wrong hash") << '\n';
  return right ? 0 : 1;
}
