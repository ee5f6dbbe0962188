#include "collectives/error.h"

#include <utility>

namespace ringlet {
namespace {

std::string sentence(const CommError::Where& where, const std::string& reason) {
  std::string text = where.operation.empty() ? "communication" : where.operation;
  if (where.sequence > 0) {
    text += message(" #{}", where.sequence);
  }
  text += message(" on rank {} of {}", where.rank, where.size);
  if (!where.group.empty()) {
    text += message(" ({})", where.group);
  }
  if (where.peer >= 0) {
    text += message(", peer {}", where.peer);
  }
  return text + ": " + reason;
}

}  // namespace

CommError::CommError(Where where, const std::string& reason)
    : std::runtime_error(sentence(where, reason)), where_(std::move(where)), reason_(reason) {}

}  // namespace ringlet
