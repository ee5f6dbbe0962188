// A shared library that a program does without where it is missing.
#pragma once

#include <string>

namespace ringlet {

struct OptionalLibrary {
  void* handle = nullptr;  // for dlsym; null when none was opened
  std::string name{};      // what was opened
  std::string why_not{};   // else the reason
};

/// Opens `name`: the file that the environment variable `variable` names and no other; else beside the program, in its ../lib, or where
/// the system looks. A file that is there but cannot be opened is the reason that is told. Never closed.
OptionalLibrary open_optional_library(const std::string& name, const char* variable, const std::string& needs);

}  // namespace ringlet
