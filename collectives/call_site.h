// Where in the program a collective was called: told when ranks disagree, never compared.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ringlet {

/// As the last argument of a verb, `CallSite site = CallSite::here()` is the caller's line. (What std::source_location is for;
/// the oldest compiler that we build with has only the builtins below it.)
struct CallSite {
  const char* file = "";
  uint32_t line = 0;

  static constexpr CallSite here(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) { return {file, line}; }
};

/// "train.cpp:88", in plain bytes that other processes can read; the beginning of a longer name is cut off.
struct SiteText {
  std::array<char, 40> text{};
  std::string_view view() const { return {text.data()}; }
};
SiteText text_of(const CallSite& site);

}  // namespace ringlet
