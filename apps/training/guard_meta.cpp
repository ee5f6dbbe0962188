// A guard's state as a manifest keeps it.
#include <algorithm>

#include "apps/training/guard.h"
#include "apps/training/meta.h"
#include "tensor/base/check.h"

namespace ringlet {

std::map<std::string, std::string> to_meta(const GuardState& state) {
  std::string skipped;
  for (const int64_t batch : state.skipped) {
    skipped.append(skipped.empty() ? "" : ",").append(to_text(batch));
  }
  return {{"guard.last_loss", bits_of(state.last_loss)},
          {"guard.mean", bits_of(state.mean)},
          {"guard.variance", bits_of(state.variance)},
          {"guard.seen", to_text(state.seen)},
          {"guard.rollbacks", to_text(state.rollbacks)},
          {"guard.rollbacks_in_a_row", to_text(state.rollbacks_in_a_row)},
          {"guard.furthest_refused", to_text(state.furthest_refused)},
          {"guard.skipped", skipped}};
}

GuardState guard_state_in(const std::map<std::string, std::string>& meta) {
  GuardState state = {.last_loss = double_in(meta, "guard.last_loss"),
                      .mean = double_in(meta, "guard.mean"),
                      .variance = double_in(meta, "guard.variance"),
                      .seen = whole_in(meta, "guard.seen"),
                      .rollbacks = whole_in(meta, "guard.rollbacks"),
                      .rollbacks_in_a_row = whole_in(meta, "guard.rollbacks_in_a_row"),
                      .furthest_refused = whole_in(meta, "guard.furthest_refused")};
  const std::string& skipped = text_in(meta, "guard.skipped");
  for (size_t begin = 0; begin < skipped.size();) {
    const size_t end = std::min(skipped.find(',', begin), skipped.size());
    state.skipped.push_back(whole_of("guard.skipped", skipped.substr(begin, end - begin)));
    begin = end + 1;
  }
  return state;
}

}  // namespace ringlet
