// JSON from a file that nobody vouches for. The parser behind it keeps the last of equal keys and builds trees of any depth:
// what it would swallow is refused here first.
#pragma once

#include <string_view>

namespace ringlet {

/// Throws `DataError` "who: rule, got" unless `text` is one JSON value in UTF-8, nested at most `max_depth` deep, no object of
/// which has a key twice.
void check_json(std::string_view text, int max_depth, std::string_view who);

}  // namespace ringlet
