#include "apps/training/call_history_file.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/training/output_file.h"
#include "tensor/base/check.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string file_of(int rank) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "calls_rank_%05d.json", rank);
  return name.data();
}

Json to_json(const CallRecord& call) {
  const bool reduces = is_reduction(call.operation), moves = has_buffers(call.operation);
  return {{"number", call.number},
          {"sequence", call.sequence},
          {"operation", name_of(call.operation)},
          {"count", moves ? Json(call.count) : Json(nullptr)},
          {"dtype", moves ? Json(to_text(call.dtype)) : Json(nullptr)},
          {"op", reduces ? Json(to_text(call.op)) : Json(nullptr)},
          {"peer", call.peer < 0 ? Json(nullptr) : Json(call.peer)},
          {"group", call.group.data()},
          {"site", call.site.view()},
          {"state", name_of(call.state)},
          {"start_s", 1e-9 * static_cast<double>(call.start_ns)},
          {"duration_us",
           call.state == CallRecord::State::Running ? Json(nullptr) : Json(1e-3 * static_cast<double>(call.duration_ns))}};
}

// Several ranks may write the same file, each under a name of its own until it is whole. The rank's own word replaces what others
// wrote for it, and is not replaced.
void write_one(const CallHistory& history, int rank, const fs::path& folder) {
  const fs::path path = folder / file_of(rank), mine = path.string() + message(".{}", history.rank());
  write_whole_file(mine.string(), call_history_json(history, rank));
  if (rank == history.rank()) {
    fs::rename(mine, path);
    return;
  }
  std::error_code there_already;
  fs::create_hard_link(mine, path, there_already);
  fs::remove(mine);
}

}  // namespace

std::string new_call_history_folder(const std::string& program) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
  return message("runs/{}-{}-{}-calls", program, text.data(), getpid());
}

std::string call_history_json(const CallHistory& history, int rank) {
  const int process = history.process_of(rank);
  const bool dead = process != 0 && kill(process, 0) != 0 && errno == ESRCH;
  Json json = {{"rank", rank},
               {"process", process},
               {"state", dead ? "dead" : "alive"},
               {"written_by", history.rank()},
               {"calls", Json::array()}};
  for (const CallRecord& call : history.of(rank)) {
    json["calls"].push_back(to_json(call));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";  // a half-written name may be no text
}

std::string write_call_histories(const CallHistory& history, const std::string& folder) {
  try {
    fs::create_directories(folder);
    write_one(history, history.rank(), folder);
    for (const int rank : history.readable()) {
      if (!fs::exists(folder / fs::path(file_of(rank)))) {
        write_one(history, rank, folder);
      }
    }
    return message("the last calls of the ranks are in {}", folder);
  } catch (const std::exception& error) {
    return message("the last calls of the ranks could not be written: {}", error.what());
  }
}

}  // namespace ringlet
