// One rank's fault becomes every rank's error, with one text: a rank that failed alone would leave the others waiting.
#pragma once

#include <exception>
#include <functional>
#include <string>

#include "collectives/communicator.h"
#include "collectives/error.h"
#include "tensor/base/check.h"

namespace ringlet {

/// Called by all ranks, each with its fault, or an empty text. The fault of the lowest rank that has one comes back on every
/// rank; empty when there is none. One all_reduce of 8 bytes while nothing is wrong.
std::string agree_on_fault(Communicator& comm, const std::string& fault);

/// Called by all ranks. `work` must not communicate. If it throws on any rank, all ranks throw an `E` with that text.
template <typename E>
void do_together(Communicator& comm, const std::function<void()>& work) {
  std::string fault;
  try {
    work();
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    fault = error.what();
    fault = fault.empty() ? "an error without a text" : fault;
  }
  if (const std::string first = agree_on_fault(comm, fault); !first.empty()) {
    throw E(first);
  }
}

/// Called by all ranks. The text of `root`.
std::string broadcast_text(Communicator& comm, const std::string& text, int root);

/// Whether `value` is the same on every rank. Called by all; one all_reduce of 16 bytes.
bool same_on_all_ranks(Communicator& comm, uint64_t value);

}  // namespace ringlet
