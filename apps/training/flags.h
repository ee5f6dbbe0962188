// Strict command-line flags: the whole value must be a number in its range, or the program does not start.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/failure.h"

namespace ringlet {

/// The ends of a range of reals, and whether they belong to it.
struct Interval {
  double low;
  double high;
  bool with_low = true;
  bool with_high = true;
};

/// Every target must outlive the parser, and holds the default until `parse`. Names are given as on the command line, several
/// spellings separated by commas ("--np,--world-size").
class Flags {
 public:
  Flags(const std::string& program, const std::string& description, const std::string& footer);
  ~Flags();

  /// The heading in --help of the flags that follow.
  void group(const std::string& title);
  void whole(const std::string& names, int64_t& target, int64_t low, int64_t high, const std::string& help);
  void real(const std::string& names, double& target, Interval range, const std::string& help);
  void text(const std::string& names, std::string& target, const std::string& help);
  void choice(const std::string& names, std::string& target, std::initializer_list<const char*> choices,
              const std::string& help);
  /// Some of `choices`, with commas between.
  void choices(const std::string& names, std::vector<std::string>& targets, const std::vector<std::string>& choices,
               const std::string& help);
  /// A flag without a value that sets `target` to `value`.
  void mark(const std::string& names, bool& target, bool value, const std::string& help);

  /// Reads the command line. A text comes back when there is nothing to do but to print it: --help. Throws UsageError with one
  /// line that names the flag, what it takes and what was found.
  std::optional<std::string> parse(int argc, const char* const* argv);
  /// Whether a flag stood on the command line.
  bool given(const std::string& name) const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace ringlet
