#include "tensor/base/check.h"

#include <fmt/args.h>
#include <fmt/format.h>

#include <cmath>

namespace ringlet {

std::string format_message(std::string_view pattern, std::span<const std::string> arguments) {
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const std::string& argument : arguments) {
    store.push_back(argument);
  }
  return fmt::vformat(fmt::string_view(pattern.data(), pattern.size()), store);
}

std::string to_text(int64_t value) { return fmt::format("{}", value); }
std::string to_text(uint64_t value) { return fmt::format("{}", value); }
// The sign of what is no number says nothing.
std::string to_text(double value) { return std::isnan(value) ? "nan" : fmt::format("{:.9g}", value); }

}  // namespace ringlet
