#include <filesystem>
#include <system_error>

#include "dist/agreement.h"
#include "dist/checkpoint_files.h"
#include "dist/durable_file.h"
#include "dist/sharded_checkpoint.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;

bool is_complete(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(directory, ignored)) &&
         fs::is_regular_file(fs::symlink_status(directory / "manifest.json", ignored));
}

// The name in `latest`, or an empty text.
std::string pointed_name(const std::string& dir) {
  try {
    const std::vector<std::byte> bytes = read_regular_file(dir + "/latest", 64);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.ends_with('\n') ? text.substr(0, text.size() - 1) : text;
  } catch (const DataError&) {
    return {};
  }
}

std::string highest_complete(const std::string& dir) {
  std::string highest;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename().string();
    if (step_of_name(name) > step_of_name(highest) && is_complete(entry.path())) {
      highest = name;
    }
  }
  return highest;
}

FoundCheckpoint look(const std::string& dir) {
  const std::string pointed = pointed_name(dir);
  if (step_of_name(pointed) >= 0 && is_complete(fs::path(dir) / pointed)) {
    return {dir + "/" + pointed, {}};
  }
  const std::string highest = highest_complete(dir);
  if (highest.empty()) {
    return {};
  }
  const std::string fault =
      pointed.empty() ? "is missing or empty" : message("names '{}', which is no complete checkpoint", pointed);
  return {dir + "/" + highest, message("{}/latest {}; {} is the highest step that is complete", dir, fault, highest)};
}

}  // namespace

std::optional<FoundCheckpoint> find_latest(const std::string& dir, Communicator& comm) {
  FoundCheckpoint found = comm.rank() == 0 ? look(dir) : FoundCheckpoint{};
  found.path = broadcast_text(comm, found.path, 0);
  found.note = broadcast_text(comm, found.note, 0);
  return found.path.empty() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace ringlet
