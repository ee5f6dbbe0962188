#include "apps/training/failure.h"

#include <string>

#include "collectives/error.h"
#include "dist/agreement.h"
#include "dist/sharded_checkpoint.h"
#include "tensor/base/gpu.h"
#include "tensor/base/gpu_error.h"

namespace ringlet {

ExitCode exit_code_of(const std::exception& error) {
  if (const auto* agreed = dynamic_cast<const AgreedFailure*>(&error)) {
    return agreed->exit_code();
  }
  if (dynamic_cast<const CheckpointError*>(&error) != nullptr) {
    return ExitCode::Checkpoint;
  }
  if (dynamic_cast<const CommError*>(&error) != nullptr) {
    return ExitCode::Communication;
  }
  if (dynamic_cast<const BackendUnavailable*>(&error) != nullptr || dynamic_cast<const DeviceUnavailable*>(&error) != nullptr ||
      dynamic_cast<const DeviceError*>(&error) != nullptr) {
    return ExitCode::Unavailable;
  }
  if (dynamic_cast<const UsageError*>(&error) != nullptr) {
    return ExitCode::Usage;
  }
  return ExitCode::Data;  // a DataError, or an Error: an id beyond the vocabulary, a shape that the input led to
}

void agree(Communicator& world, const std::function<void()>& body) {
  std::string fault;  // a digit, the exit code, before the text
  try {
    body();
  } catch (const std::exception& error) {
    const std::string who = world.rank() > 0 ? message("rank {}: ", world.rank()) : "";
    fault = std::to_string(to_int(exit_code_of(error))) + who + error.what();
  }
  if (const std::string first = agree_on_fault(world, fault); !first.empty()) {
    throw AgreedFailure(static_cast<ExitCode>(first[0] - '0'), first.substr(1));
  }
}

}  // namespace ringlet
