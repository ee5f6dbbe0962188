// Errors, and the one way to raise them. Messages read "who: rule, got": `matmul: inner dimensions differ, [64, 32] x [48, 96]`.
//
// Four kinds of error exist. The caller's fault is an `Error`; the file's is a `DataError`; the world's (a peer, a wire) is a
// `CommError` (collectives/error.h); ours is an `assert`. A library never prints and never exits: it throws.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ringlet {

// Guards against NaN (is this loss finite?) and -inf in masks need a compiler that knows both exist: no -ffast-math, no -Ofast.
#ifdef __FINITE_MATH_ONLY__
static_assert(__FINITE_MATH_ONLY__ == 0, "ringlet: compile without -ffast-math, -Ofast and -ffinite-math-only");
#endif

/// The caller broke a rule: wrong shape, dtype, range, order of calls.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file broke a rule: missing, truncated, altered, foreign. `what()` names the file, the rule and what was found.
class DataError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Replaces each `{}` of `pattern` by the next argument.
std::string format_message(std::string_view pattern, std::span<const std::string> arguments);

// How a value reads in a message. Types of our own add an overload of `to_text` in namespace ringlet.
std::string to_text(int64_t value);
std::string to_text(uint64_t value);
std::string to_text(double value);
inline std::string to_text(bool value) { return value ? "true" : "false"; }
inline std::string to_text(std::string_view value) { return std::string(value); }
inline std::string to_text(const char* value) { return value; }
template <std::signed_integral T>
std::string to_text(T value) {
  return to_text(static_cast<int64_t>(value));
}
template <std::unsigned_integral T>
std::string to_text(T value) {
  return to_text(static_cast<uint64_t>(value));
}
template <std::floating_point T>
std::string to_text(T value) {
  return to_text(static_cast<double>(value));
}

/// The text of `pattern` with every `{}` filled in.
template <typename... Args>
std::string message(std::string_view pattern, const Args&... args) {
  if constexpr (sizeof...(Args) == 0) {
    return format_message(pattern, {});
  } else {
    const std::string texts[] = {to_text(args)...};
    return format_message(pattern, texts);
  }
}

/// Throws an `E` whose text is `pattern` filled in.
template <typename E = Error, typename... Args>
[[noreturn]] void fail(std::string_view pattern, const Args&... args) {
  throw E(message(pattern, args...));
}

/// Throws an `E` unless `ok`. The message is built only on failure, so a check costs one branch.
template <typename E = Error, typename... Args>
void check(bool ok, std::string_view pattern, const Args&... args) {
  if (!ok) [[unlikely]] {
    fail<E>(pattern, args...);
  }
}

}  // namespace ringlet
