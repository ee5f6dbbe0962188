#include "collectives/fingerprint.h"

namespace ringlet {

Fingerprint fingerprint_of(const Call& call, uint64_t group) {
  Fingerprint print{.sequence = call.sequence, .group = group, .operation = call.operation};
  if (has_buffers(call.operation)) {
    const bool receives = call.operation == Operation::Recv;
    print.count = receives ? call.out.count : call.in.count;
    print.dtype = receives ? call.out.dtype : call.in.dtype;
    print.device = call.in.device.kind;
  }
  if (is_rooted(call.operation)) {
    print.root = call.peer;
  }
  if (is_reduction(call.operation)) {
    print.op = call.op;
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
  text += message(" of {} {}", call.count, call.dtype);
  if (is_reduction(call.operation)) {
    text += message(", {}", call.op);
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
    note(a.dtype == b.dtype, "dtype");
    note(a.op == b.op, "reduce op");
    note(a.root == b.root, "root");
    note(a.device == b.device, "device");
  }
  return text;
}

}  // namespace ringlet
