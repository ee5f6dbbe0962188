// The smallest program of ours: what it is built of, on one line each.
#include <iostream>

#include "tensor/base/build_info.h"

int main() {
  const ringlet::BuildInfo info = ringlet::build_info();
  std::cout << "version " << info.version << "\ncommit " << info.commit << "\ncompiler " << info.compiler << "\nbuild type "
            << info.build_type << "\nflags " << info.flags << "\narch " << info.arch << "\nCPU level " << info.cpu_level
            << '\n';
}
