// "1 rank", "4 ranks".
#pragma once

#include <cstdint>
#include <string>

namespace ringlet {

inline std::string counted(int64_t n, const std::string& what, const std::string& plural_end = "s") {
  return std::to_string(n) + " " + what + (n == 1 ? "" : plural_end);
}

}  // namespace ringlet
