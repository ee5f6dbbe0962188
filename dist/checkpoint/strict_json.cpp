#include "dist/checkpoint/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

using Json = nlohmann::json;

// Listens to the parser without building anything. A handler that returns false ends the parse.
class Watcher final : public nlohmann::json_sax<Json> {
 public:
  explicit Watcher(int max_depth) : max_depth_(max_depth) {}
  const std::string& fault() const { return fault_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    return keys_.back().insert(name).second ||
           refuse(message("every key must stand once in its object, got \"{}\" twice", name));
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    return refuse(message("must be JSON, got at byte {}: {}", position, error.what()));
  }

 private:
  bool open() {
    keys_.emplace_back();
    return static_cast<int>(keys_.size()) <= max_depth_ || refuse(message("must be nested at most {} deep", max_depth_));
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  bool refuse(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  int max_depth_;
  std::vector<std::set<std::string>> keys_;  // of the objects around the current place; empty sets for arrays
  std::string fault_;
};

}  // namespace

void check_json(std::string_view text, int max_depth, std::string_view who) {
  Watcher watcher(max_depth);
  if (!Json::sax_parse(text, &watcher)) {
    fail<DataError>("{}: {}", who, watcher.fault());
  }
}

}  // namespace ringlet
