#include "apps/training/trace_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "apps/training/failure.h"
#include "apps/training/gather_texts.h"
#include "apps/training/output_file.h"
#include "collectives/control_scope.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kCompute = 0, kCommunication = 1;  // thread ids; further rows of communication follow

double microseconds(int64_t ns) { return 1e-3 * static_cast<double>(ns); }

Json named(const char* what, int rank, int row, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", row}, {"args", {{"name", name}}}};
}

// The first row that is free when `span` begins; spans come in the order of their beginnings.
int row_for(const Span& span, std::vector<int64_t>& busy_until) {
  const auto free = std::find_if(busy_until.begin(), busy_until.end(), [&](int64_t end) { return end <= span.begin_ns; });
  const auto row = free - busy_until.begin();
  if (free == busy_until.end()) {
    busy_until.push_back(span.end_ns);
  } else {
    *free = span.end_ns;
  }
  return kCommunication + static_cast<int>(row);
}

Json event(const Span& span, int rank, int row, int64_t zero_ns) {
  Json json = {{"ph", "X"},
               {"name", span.name},
               {"pid", rank},
               {"tid", row},
               {"ts", microseconds(span.begin_ns - zero_ns)},
               {"dur", microseconds(span.end_ns - span.begin_ns)}};
  if (span.row == Span::Row::Communication) {
    json["cat"] = span.control ? "control" : "payload";
    json["args"] = {{"group", span.group}, {"sequence", span.sequence}, {"bytes", span.bytes}, {"site", span.site}};
  } else {
    json["cat"] = "compute";
  }
  return json;
}

}  // namespace

std::string trace_events(const Timeline& timeline, int rank, int64_t zero_ns) {
  std::vector<const Span*> spans;
  for (const Span& span : timeline.spans()) {
    spans.push_back(&span);
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) { return a->begin_ns < b->begin_ns; });

  std::vector<Json> events = {named("process_name", rank, kCompute, message("rank {}", rank)),
                              named("thread_name", rank, kCompute, "compute")};
  std::vector<int64_t> busy_until(1, INT64_MIN);
  for (const Span* span : spans) {
    const int row = span->row == Span::Row::Compute ? kCompute : row_for(*span, busy_until);
    events.push_back(event(*span, rank, row, zero_ns));
  }
  for (size_t i = 0; i < busy_until.size(); ++i) {
    const std::string name = i == 0 ? "communication" : message("communication {}", i + 1);
    events.push_back(named("thread_name", rank, kCommunication + static_cast<int>(i), name));
  }
  if (timeline.dropped() > 0) {
    events.push_back(named("process_labels", rank, kCompute, message("the last {} spans are missing", timeline.dropped())));
  }
  std::string text;
  for (const Json& one : events) {
    text += (text.empty() ? "" : ",\n") + one.dump();
  }
  return text;
}

void write_trace(const std::string& path, const Recorder& recorder, Communicator& world) {
  if (recorder.timeline == nullptr) {
    return;
  }
  const Timeline& timeline = *recorder.timeline;
  const int64_t to_wall = Timeline::steady_to_wall_ns();
  int64_t zero = timeline.spans().empty() ? to_wall : timeline.spans().front().begin_ns + to_wall;
  {
    const ControlScope control(world);
    world.broadcast(Buffer(&zero, 1, DType::I64), 0);
  }
  const std::vector<std::string> texts = gather_texts(world, trace_events(timeline, world.rank(), zero - to_wall));
  agree(world, [&] {
    std::string all;
    for (const std::string& text : texts) {
      all += (all.empty() ? "" : ",\n") + text;
    }
    if (world.rank() == 0) {
      write_whole_file(path, "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n" + all + "\n]}\n");
    }
  });
}

}  // namespace ringlet
