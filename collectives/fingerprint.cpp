#include "collectives/fingerprint.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tensor/base/hash.h"

namespace ringlet {
namespace {

// 0 only where there are no counts.
uint32_t hash_of(std::span<const int64_t> counts) {
  return counts.empty() ? 0 : std::max(static_cast<uint32_t>(hash_bytes(std::as_bytes(counts))), 1U);
}

std::string hex(uint32_t value) {
  std::array<char, 8> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr};
}

}  // namespace

Fingerprint fingerprint_of(const Call& call, uint64_t group) {
  if (call.stands_for != nullptr) {
    return fingerprint_of(*call.stands_for, group);
  }
  Fingerprint print{.sequence = call.sequence, .group = group, .operation = call.operation};
  if (has_buffers(call.operation)) {
    const bool receives = call.operation == Operation::Recv;
    print.count = agreed_count(call);
    print.dtype = receives ? call.out.dtype : call.in.dtype;
    print.device = call.device().kind;
  }
  if (call.operation != Operation::AllToAllV) {
    print.parts = hash_of(call.counts);
  }
  if (is_rooted(call.operation)) {
    print.root = call.peer;
  }
  if (is_reduction(call.operation)) {
    print.op = call.op.op;
    print.factor = call.op.factor;
  }
  return print;
}

Fingerprint leaving_after(uint64_t done, uint64_t group) {
  return {.sequence = done + 1, .group = group, .operation = Operation::Leave};
}

std::string describe(const Fingerprint& call) {
  if (call.operation == Operation::Leave) {
    return message("leaves after #{}", call.sequence - 1);
  }
  std::string text = message("{} #{}", call.operation, call.sequence);
  if (!has_buffers(call.operation)) {
    return text;
  }
  text += call.count < 0 ? message(" of {}", call.dtype) : message(" of {} {}", call.count, call.dtype);
  if (call.parts != 0) {
    text += message(" in parts {}", hex(call.parts));
  }
  if (is_reduction(call.operation)) {
    text += ", " + to_text(Reduction(call.op, call.factor));
  }
  return call.root < 0 ? text : text + message(", root {}", call.root);
}

std::string differences(const Fingerprint& a, const Fingerprint& b) {
  std::string text;
  const auto note = [&](bool same, const char* field) {
    if (!same) {
      text += (text.empty() ? "" : ", ") + std::string(field);
    }
  };
  const bool leaving = a.operation == Operation::Leave || b.operation == Operation::Leave;
  note(a.group == b.group || leaving, "group");
  note(a.sequence == b.sequence, "number of calls");
  note(a.operation == b.operation, "operation");
  if (a.operation == b.operation) {  // what belongs to another operation says nothing
    note(a.count == b.count, "count");
    note(a.parts == b.parts || a.count != b.count, "counts of the parts");
    note(a.dtype == b.dtype, "dtype");
    note(a.op == b.op, "reduce op");
    note(a.factor == b.factor || a.op != b.op, "factor");
    note(a.root == b.root, "root");
    note(a.device == b.device, "device");
  }
  return text;
}

}  // namespace ringlet
