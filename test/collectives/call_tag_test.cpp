// The tags by which messages of one call are told from those of another.
#include "collectives/transports/call_tag.h"

#include <functional>
#include <set>

#include "test/support/catch.h"

using namespace ringlet;

TEST_CASE("messages of another call have another tag, and only those under the same number contradict", "[disagreement]") {
  const Fingerprint call{.sequence = 12, .group = 7, .count = 100, .operation = Operation::AllReduce};
  const std::vector<std::function<void(Fingerprint&)>> other{
      [](Fingerprint& f) { f.group = 8; },
      [](Fingerprint& f) { f.count = 101; },
      [](Fingerprint& f) { f.root = 0; },
      [](Fingerprint& f) { f.parts = 1; },
      [](Fingerprint& f) { f.factor = 0.5F; },
      [](Fingerprint& f) { f.operation = Operation::Barrier; },
      [](Fingerprint& f) { f.dtype = DType::I32; },
      [](Fingerprint& f) { f.op = ReduceOp::Max; },
      [](Fingerprint& f) { f.device = Device::Kind::Cuda; },
  };
  for (const int largest : {32767, INT32_MAX}) {  // what MPI promises, and Open MPI's
    const CallTag mine(call, largest);
    CHECK(mine.on_wire() <= largest);
    CHECK_FALSE(mine.contradicts(mine.on_wire()));
    CHECK_FALSE(mine.contradicts(-1));
    std::set<int> tags{mine.on_wire()};
    for (const auto& change : other) {
      Fingerprint changed = call;
      change(changed);
      const int tag = CallTag(changed, largest).on_wire();
      CHECK(mine.contradicts(tag));
      CHECK(tags.insert(tag).second);
    }
    Fingerprint next = call;
    ++next.sequence;
    CHECK(CallTag(next, largest).on_wire() != mine.on_wire());
    CHECK_FALSE(mine.contradicts(CallTag(next, largest).on_wire()));
  }
  CHECK_FALSE(CallTag().contradicts(CallTag().on_wire()));
}
