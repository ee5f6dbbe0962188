// Texts in a manifest's meta, read strictly: CheckpointError names the key that is missing or no number.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ringlet {

const std::string& text_in(const std::map<std::string, std::string>& meta, const std::string& key);
int64_t whole_in(const std::map<std::string, std::string>& meta, const std::string& key);
/// Not negative.
int64_t whole_of(const std::string& key, const std::string& text);

/// A double as its bits: exact, and defined for NaN.
std::string bits_of(double value);
double double_in(const std::map<std::string, std::string>& meta, const std::string& key);

}  // namespace ringlet
