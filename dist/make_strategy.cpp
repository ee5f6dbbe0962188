#include "dist/make_strategy.h"

#include <utility>

#include "dist/ddp.h"
#include "dist/zero.h"

namespace ringlet {

std::unique_ptr<Strategy> make_strategy(std::string_view name, Module& module, LossFunction loss, Communicator& comm,
                                        const OptimizerConfig& optimizer, const BucketSizes& buckets) {
  if (name == "ddp") {
    return std::make_unique<Ddp>(module, std::move(loss), comm, optimizer, buckets);
  }
  if (name == "zero1") {
    return std::make_unique<Zero1>(module, std::move(loss), comm, optimizer);
  }
  fail("strategy: must be ddp or zero1, got {}", name);
}

}  // namespace ringlet
