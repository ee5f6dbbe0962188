// UTF-8, one code point at a time (RFC 3629).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ringlet {

/// Reads the code point at `offset` and moves `offset` behind it. Throws DataError that names the offset when the bytes there
/// are not UTF-8: a stray or missing continuation byte, an overlong form, a surrogate, a value beyond U+10FFFF.
char32_t next_code_point(std::string_view text, size_t& offset);

void append_utf8(std::string& text, char32_t code_point);

}  // namespace ringlet
