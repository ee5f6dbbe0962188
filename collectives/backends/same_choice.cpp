#include "collectives/backends/same_choice.h"

#include <algorithm>
#include <vector>

#include "collectives/algorithms/ring.h"
#include "collectives/error.h"

namespace ringlet {
namespace {

constexpr size_t kRoom = 256;

std::vector<std::string> choices_of_all(PointToPoint& net, const std::string& mine) {
  std::vector<char> all(kRoom * static_cast<size_t>(net.size()), '\0');
  std::copy_n(mine.begin(), std::min(mine.size(), kRoom), all.begin() + static_cast<std::ptrdiff_t>(kRoom) * net.rank());
  ring_all_gather<char>(net, all);
  std::vector<std::string> choices;
  for (auto at = all.begin(); at != all.end(); at += kRoom) {
    choices.emplace_back(at, std::find(at, at + kRoom, '\0'));
  }
  return choices;
}

// The line of `text` that character `at` is in.
std::string line_at(const std::string& text, std::ptrdiff_t at) {
  const size_t begin = text.rfind('\n', static_cast<size_t>(at)) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

void require_same_choice(PointToPoint& net, const std::string& choice) {
  const std::vector<std::string> choices = choices_of_all(net, choice);
  const auto sharers = [&](const std::string& one) { return std::count(choices.begin(), choices.end(), one); };
  const auto fewer = [&](const std::string& a, const std::string& b) { return sharers(a) < sharers(b); };
  const auto usual =
      std::max_element(choices.begin(), choices.end(), fewer);  // the first of equals: rank 0's, where two halves differ
  const auto odd = std::find_if(choices.begin(), choices.end(), [&](const std::string& one) { return one != *usual; });
  if (odd != choices.end()) {
    const int peer = static_cast<int>(odd - choices.begin());
    const auto at = std::mismatch(odd->begin(), odd->end(), usual->begin(), usual->end()).first - odd->begin();
    throw CommError({.rank = net.rank(), .size = net.size(), .peer = peer, .group = "world"},
                    message("ranks must choose alike, got '{}' on rank {} where rank {} has '{}'", line_at(*odd, at), peer,
                            usual - choices.begin(), line_at(*usual, at)));
  }
}

}  // namespace ringlet
