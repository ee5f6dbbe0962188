// Failures on the way from where they happen to the exit code.
#pragma once

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "apps/training/exit_code.h"
#include "collectives/communicator.h"
#include "tensor/base/check.h"

namespace ringlet {

/// The command line breaks a rule.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A failure that every rank knows of: each throws the same, rank 0 says it once, and the job ends in good order.
class AgreedFailure : public std::runtime_error {
 public:
  AgreedFailure(ExitCode exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  ExitCode exit_code() const { return exit_code_; }

 private:
  ExitCode exit_code_;
};

/// The exit code that `error` stands for, by its type.
ExitCode exit_code_of(const std::exception& error);

/// Runs `body` on every rank and goes on only if it succeeded on all. Otherwise every rank throws the same AgreedFailure: the
/// exit code and the text of the lowest rank that failed. `body` must not communicate. Costs one small all_reduce.
void agree(Communicator& world, const std::function<void()>& body);

}  // namespace ringlet
