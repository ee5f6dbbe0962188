#include "dist/make_strategy.h"

#include <utility>

#include "dist/ddp.h"
#include "dist/fsdp.h"
#include "dist/zero.h"

namespace ringlet {

std::unique_ptr<Strategy> make_strategy(std::string_view name, Module& module, LossFunction loss, Communicator& comm,
                                        const OptimizerConfig& optimizer, const ParallelOptions& options) {
  check(!options.record || name == "ddp" || name == "zero1",
        "strategy: {} communicates inside forward and backward, which cannot be recorded; take ddp or zero1", name);
  const auto sharded = [&](Fsdp::Kind kind) {
    return std::make_unique<Fsdp>(kind, module, std::move(loss), comm, optimizer, options);
  };
  if (name == "ddp") {
    return std::make_unique<Ddp>(module, std::move(loss), comm, optimizer, options);
  }
  if (name == "zero1") {
    return std::make_unique<Zero1>(module, std::move(loss), comm, optimizer, options);
  }
  if (name == "zero2") {
    return sharded(Fsdp::Kind::Zero2);
  }
  if (name == "fsdp") {
    return sharded(Fsdp::Kind::Fsdp);
  }
  if (name == "hsdp") {
    return sharded(Fsdp::Kind::Hsdp);
  }
  fail("strategy: must be ddp, zero1, zero2, fsdp or hsdp, got {}", name);
}

}  // namespace ringlet
