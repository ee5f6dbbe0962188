#include "apps/training/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace ringlet {

struct Flags::Parser {
  CLI::App app;
  std::string program;
  std::string group;
  std::vector<std::string> marks;  // flags without a value

  // CLI11 would take "--quiet=false" for a flag that is not there.
  void refuse_values(int argc, const char* const* argv) const {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      const size_t equals = word.find('=');
      check<UsageError>(
          equals == std::string::npos || std::find(marks.begin(), marks.end(), word.substr(0, equals)) == marks.end(),
          "{}: takes no value, got '{}'", word.substr(0, equals), word.substr(std::min(word.size(), equals + 1)));
    }
  }

  Parser(const std::string& description, const std::string& name) : app(description, name), program(name) {}

  // CLI11 only splits the command line: values stay text, and `read` is ours.
  void add(const std::string& names, const std::string& type, const std::string& shown_default, const std::string& help,
           std::function<void(const std::string&)> read) {
    CLI::Option* option = app.add_option_function<std::string>(names, std::move(read), help);
    option->group(group)->type_name(type)->default_str(shown_default);
  }
};

namespace {

// The whole text as a number; nothing when any of it is left over.
template <typename T>
std::optional<T> number_from(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::string first_name(const std::string& names) { return names.substr(0, names.find(',')); }

bool contains(Interval range, double value) {
  return std::isfinite(value) && (range.with_low ? value >= range.low : value > range.low) &&
         (range.with_high ? value <= range.high : value < range.high);
}

std::string describe(Interval range) {
  const std::string low = message("{} {}", range.with_low ? "at least" : "more than", range.low);
  if (std::isinf(range.high)) {
    return low;
  }
  return message("{} and {} {}", low, range.with_high ? "at most" : "less than", range.high);
}

}  // namespace

Flags::Flags(const std::string& program, const std::string& description, const std::string& footer)
    : parser_(std::make_unique<Parser>(description, program)) {
  parser_->app.set_help_flag("--help,-h", "this text");
  parser_->app.footer(footer);
  parser_->app.get_formatter()->column_width(38);
}

Flags::~Flags() = default;

void Flags::group(const std::string& title) { parser_->group = title; }

void Flags::whole(const std::string& names, int64_t& target, int64_t low, int64_t high, const std::string& help) {
  const std::string name = first_name(names);
  parser_->add(names, "N", target < low ? "" : to_text(target), help, [=, &target](const std::string& text) {
    const auto value = number_from<int64_t>(text);
    check<UsageError>(value && *value >= low && *value <= high, "{}: takes a whole number from {} to {}, got '{}'", name, low,
                      high, text);
    target = *value;
  });
}

void Flags::real(const std::string& names, double& target, Interval range, const std::string& help) {
  const std::string name = first_name(names);
  parser_->add(names, "X", to_text(target), help, [=, &target](const std::string& text) {
    const auto value = number_from<double>(text);
    check<UsageError>(value && contains(range, *value), "{}: takes a finite number, {}, got '{}'", name, describe(range), text);
    target = *value;
  });
}

void Flags::text(const std::string& names, std::string& target, const std::string& help) {
  const std::string name = first_name(names);
  parser_->add(names, "PATH", target, help, [=, &target](const std::string& text) {
    check<UsageError>(!text.empty(), "{}: takes a path, got ''", name);
    target = text;
  });
}

void Flags::choice(const std::string& names, std::string& target, std::initializer_list<const char*> choices,
                   const std::string& help) {
  std::string listed;
  for (const char* choice : choices) {
    listed += (listed.empty() ? "" : "|") + std::string(choice);
  }
  const std::set<std::string> allowed(choices.begin(), choices.end());
  const std::string name = first_name(names);
  parser_->add(names, listed, target, help, [=, &target](const std::string& text) {
    check<UsageError>(allowed.contains(text), "{}: takes one of {}, got '{}'", name, listed, text);
    target = text;
  });
}

void Flags::choices(const std::string& names, std::vector<std::string>& targets, const std::vector<std::string>& choices,
                    const std::string& help) {
  const auto joined = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
      text += (text.empty() ? "" : ",") + word;
    }
    return text;
  };
  const std::string name = first_name(names), listed = joined(choices);
  parser_->add(names, "LIST", joined(targets), help, [=, &targets](const std::string& text) {
    targets.clear();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      targets.push_back(text.substr(begin, end - begin));
      check<UsageError>(std::find(choices.begin(), choices.end(), targets.back()) != choices.end(),
                        "{}: takes some of {}, got '{}'", name, listed, text);
      begin = end + 1;
    }
  });
}

void Flags::mark(const std::string& names, bool& target, bool value, const std::string& help) {
  parser_->app
      .add_flag_callback(
          names, [=, &target] { target = value; }, help)
      ->group(parser_->group);
  parser_->marks.push_back(names);
}

std::optional<std::string> Flags::parse(int argc, const char* const* argv) {
  parser_->refuse_values(argc, argv);
  try {
    parser_->app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return parser_->app.help();
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = parser_->app.remaining();
    const auto flag = std::find_if(extras.begin(), extras.end(), [](const std::string& word) { return word.starts_with("-"); });
    fail<UsageError>("{}: no such flag ({} --help lists them)", flag == extras.end() ? extras.front() : *flag,
                     parser_->program);
  } catch (
      const CLI::ArgumentMismatch& error) {  // "--steps: 1 required N missing", "--steps: At Most 1 required but received 2"
    const std::string text = error.what();
    fail<UsageError>("{}: {}", text.substr(0, text.find(':')),
                     text.find("received") == std::string::npos ? "needs a value" : "given more than once");
  } catch (const CLI::ParseError& error) {
    fail<UsageError>("{}", error.what());
  }
  return std::nullopt;
}

bool Flags::given(const std::string& name) const { return parser_->app.count(name) > 0; }

}  // namespace ringlet
