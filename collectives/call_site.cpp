#include "collectives/call_site.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace ringlet {

// Once per collective, so without allocation.
SiteText text_of(const CallSite& site) {
  SiteText result;
  std::string_view name = site.file;
  name.remove_prefix(name.rfind('/') + 1);  // of npos this is 0
  if (name.empty()) {
    return result;
  }
  std::array<char, 12> line{':'};
  const char* end = std::to_chars(line.data() + 1, std::end(line), site.line).ptr;
  const auto digits = static_cast<size_t>(end - line.data());
  name.remove_prefix(name.size() - std::min(name.size(), result.text.size() - 1 - digits));
  std::copy_n(line.data(), digits, std::copy(name.begin(), name.end(), result.text.begin()));
  return result;
}

}  // namespace ringlet
