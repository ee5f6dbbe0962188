#include "apps/training/communication_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/training/gather_texts.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const LedgerRow& row) {
  Json json = {{"phase", row.phase},     {"group", row.group},    {"operation", static_cast<int>(row.operation)},
               {"control", row.control}, {"ranks", row.ranks},    {"calls", row.calls},
               {"bytes", row.bytes},     {"seconds", row.seconds}};
  if (row.moved) {
    json["messages"] = row.moved->messages;
    json["moved"] = row.moved->bytes;
  }
  return json;
}

LedgerRow from_json(const Json& json) {
  LedgerRow row = {.phase = json["phase"],
                   .group = json["group"],
                   .operation = static_cast<Operation>(json["operation"].get<int>()),
                   .control = json["control"],
                   .ranks = json["ranks"],
                   .calls = json["calls"],
                   .bytes = json["bytes"],
                   .seconds = json["seconds"]};
  if (json.contains("moved")) {
    row.moved = Moved{.messages = json["messages"], .bytes = json["moved"]};
  }
  return row;
}

bool same_row(const LedgerRow& a, const LedgerRow& b) {
  return a.operation == b.operation && a.control == b.control && a.phase == b.phase && a.group == b.group;
}

void merge(std::vector<CommunicationRow>& rows, const LedgerRow& one) {
  auto found = std::find_if(rows.begin(), rows.end(), [&](const CommunicationRow& row) { return same_row(row.most, one); });
  if (found == rows.end()) {
    found = rows.insert(rows.end(), {.most = one});
  }
  LedgerRow& most = found->most;
  most.calls = std::max(most.calls, one.calls);
  most.bytes = std::max(most.bytes, one.bytes);
  most.seconds = std::max(most.seconds, one.seconds);
  if (most.moved && one.moved) {
    most.moved = {std::max(most.moved->messages, one.moved->messages), std::max(most.moved->bytes, one.moved->bytes)};
  }
  const double sum = found->mean_seconds * found->ranks_with_it + one.seconds;
  found->mean_seconds = sum / ++found->ranks_with_it;
}

template <typename... Args>
std::string formatted(const char* format, Args... args) {
  std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format, args...)), '\0');
  std::snprintf(text.data(), text.size() + 1, format, args...);
  return text;
}

std::string number(bool known, int64_t value) { return known ? to_text(value) : "-"; }

}  // namespace

std::optional<CommunicationReport> gather_communication(const Recorder& recorder, int64_t steps, Communicator& world) {
  if (recorder.ledger == nullptr) {
    return std::nullopt;
  }
  Json mine = Json::array();
  for (const LedgerRow& row : recorder.ledger->rows()) {
    mine.push_back(to_json(row));
  }
  CommunicationReport report{.rows = {}, .steps = steps};
  for (const std::string& text : gather_texts(world, mine.dump())) {
    for (const Json& row : Json::parse(text)) {
      merge(report.rows, from_json(row));
    }
  }
  std::stable_partition(report.rows.begin(), report.rows.end(), [](const CommunicationRow& row) { return !row.most.control; });
  return report;
}

std::vector<std::string> CommunicationReport::lines() const {
  std::vector<std::string> lines = {
      "communication per rank: what must travel (payload), what the transport sent or copied (moved); time in calls",
      formatted("%-7s %-6s %-10s %-15s %8s %14s %12s %10s %14s %11s %11s", "", "phase", "group", "operation", "calls",
                "payload", "a step", "messages", "moved", "mean ms", "most ms")};
  for (const CommunicationRow& row : rows) {
    const LedgerRow& most = row.most;
    const bool per_step = steps > 0 && most.phase == kPhaseSteps;
    lines.push_back(formatted("%-7s %-6s %-10s %-15s %8s %14s %12s %10s %14s %11.3f %11.3f",
                              most.control ? "control" : "payload", most.phase.c_str(), most.group.c_str(),
                              to_text(most.operation).c_str(), to_text(most.calls).c_str(), to_text(most.payload()).c_str(),
                              number(per_step, per_step ? most.payload() / steps : 0).c_str(),
                              number(most.moved.has_value(), most.moved ? most.moved->messages : 0).c_str(),
                              number(most.moved.has_value(), most.moved ? most.moved->bytes : 0).c_str(),
                              1e3 * row.mean_seconds, 1e3 * most.seconds));
  }
  return lines;
}

std::string CommunicationReport::json() const {
  Json all = Json::array();
  for (const CommunicationRow& row : rows) {
    const LedgerRow& most = row.most;
    const bool per_step = steps > 0 && most.phase == kPhaseSteps;
    all.push_back({{"phase", most.phase},
                   {"group", most.group},
                   {"operation", to_text(most.operation)},
                   {"control", most.control},
                   {"ranks", most.ranks},
                   {"calls", most.calls},
                   {"bytes", most.bytes},
                   {"payload_bytes", most.payload()},
                   {"payload_bytes_per_step",
                    per_step ? Json(static_cast<double>(most.payload()) / static_cast<double>(steps)) : Json(nullptr)},
                   {"messages", most.moved ? Json(most.moved->messages) : Json(nullptr)},
                   {"moved_bytes", most.moved ? Json(most.moved->bytes) : Json(nullptr)},
                   {"seconds_mean", row.mean_seconds},
                   {"seconds_max", most.seconds}});
  }
  return all.dump();
}

}  // namespace ringlet
