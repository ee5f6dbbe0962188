// A message that is not what its receiver expects: refused before anything is written, and the end of its group.
#pragma once

#include <vector>

#include "collectives/communicator.h"
#include "test/support/report.h"

namespace ringlet::test {

struct OtherMessage {
  int64_t sent;  // f32
  int64_t expected;
  DType dtype;
  bool starts;  // the receiver, and waits later
};

/// Around what MPI sends at once, and what it copies between processes.
inline const std::vector<OtherMessage>& other_messages() {
  static const std::vector<OtherMessage> kRows{{4, 4, DType::I32, false},      {4, 2, DType::F64, true},
                                               {5, 4, DType::F32, true},       {4, 5, DType::F32, false},
                                               {1100, 1000, DType::F32, true}, {2000, 1990, DType::F32, false},
                                               {500000, 4, DType::F32, true},  {1990, 200000, DType::F32, false}};
  return kRows;
}

/// Called by all ranks: rank 0 sends it to rank 1. Nobody can use `world` afterwards.
inline void send_another_message(Communicator& world, const OtherMessage& one, Report& report) {
  std::vector<float> memory(500000, -1.0F);
  const std::vector<float> sent(static_cast<size_t>(one.sent), 7.0F);
  if (world.rank() == 0) {
    try {
      world.send(sent, 1, 7);
    } catch (const CommError&) {  // where it waits for its receiver, and hears of it
    }
  } else if (world.rank() == 1) {
    const Buffer room(memory.data(), one.expected, one.dtype);
    const std::string rule =
        message("got {} of f32 from rank 0 where {} of {} are expected", one.sent, one.expected, one.dtype);
    report.expect_error<CommError>(rule, [&] {
      Work receiving = world.start_recv(room, 0, 7);
      one.starts ? receiving.wait() : (receiving = Work(), world.recv(room, 0, 7));  // who does not wait hears of it next
    });
    report.expect(memory == std::vector<float>(memory.size(), -1.0F), "{} of f32 for {} of {}: something was written", one.sent,
                  one.expected, one.dtype);
    std::vector<int32_t> more(4);
    report.expect_error<CommError>(rule, [&] { world.all_reduce(more, ReduceOp::Sum); });
    report.expect_error<CommError>(rule, [&] { world.send(more, 0); });
  }
}

}  // namespace ringlet::test
