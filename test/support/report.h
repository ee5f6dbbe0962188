// Failures of one rank, collected. A check that threw, or a REQUIRE, on one rank only would leave the others waiting in their next
// collective; so checks about ranks are written down and asserted afterwards.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/base/check.h"

namespace ringlet::test {

class Report {
 public:
  explicit Report(std::string who = "") : who_(std::move(who)) {}

  /// Names what the next checks are about.
  void about(std::string sentence) { sentence_ = std::move(sentence); }

  template <typename... Args>
  void expect(bool ok, std::string_view pattern, const Args&... args) {
    ++checks_;
    if (!ok && ++failed_ <= 20) {  // the first few tell enough
      failures_.push_back(who_ + sentence_ + ": " + message(pattern, args...));
    }
  }

  /// `action` must throw an E whose text contains `part`.
  template <typename E, typename Action>
  void expect_error(std::string_view part, Action&& action) {
    try {
      action();
      expect(false, "no error where '{}' was expected", part);
    } catch (const E& error) {
      expect(std::string_view(error.what()).find(part) != std::string_view::npos, "'{}' lacks '{}'", error.what(), part);
    } catch (const std::exception& error) {
      expect(false, "another kind of error: {}", error.what());
    }
  }

  int checks() const { return checks_; }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  std::string who_;
  std::string sentence_;
  int checks_ = 0;
  int failed_ = 0;
  std::vector<std::string> failures_;
};

}  // namespace ringlet::test
