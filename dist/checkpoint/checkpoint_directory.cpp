#include "dist/checkpoint/checkpoint_directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "dist/checkpoint/checkpoint_manifest.h"
#include "dist/checkpoint/durable_file.h"
#include "tensor/base/check.h"

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

std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

// "step_00000010.tmp" and what a replacement in two steps sets aside.
bool is_leftover(const std::string& name) {
  return name.ends_with(".tmp") && step_of_name(name.substr(0, name.find('.'))) >= 0;
}

// Nothing where the checkpoint cannot be read.
std::optional<std::string> run_at(const std::string& path) {
  try {
    return run_of(read_manifest_file(path));
  } catch (const DataError&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<int64_t> complete_steps(const std::string& dir) {
  std::vector<int64_t> steps;
  for (const std::string& name : names_in(dir)) {
    if (step_of_name(name) >= 0 && is_complete(fs::path(dir) / name)) {
      steps.push_back(step_of_name(name));
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::optional<FoundCheckpoint> find_latest(const std::string& dir) {
  const std::string pointed = pointed_name(dir);
  if (step_of_name(pointed) >= 0 && is_complete(fs::path(dir) / pointed)) {
    return FoundCheckpoint{(fs::path(dir) / pointed).string(), {}};
  }
  const std::vector<int64_t> steps = complete_steps(dir);
  if (steps.empty()) {
    return std::nullopt;
  }
  const std::string highest = checkpoint_name(steps.back());
  const std::string fault =
      pointed.empty() ? "is missing or empty" : message("names '{}', which is no complete checkpoint", pointed);
  return FoundCheckpoint{(fs::path(dir) / highest).string(), message("{} {}; {} is the highest step that is complete",
                                                                     (fs::path(dir) / "latest").string(), fault, highest)};
}

void require_same_run(const std::string& dir, const std::string& run, int64_t step) {
  for (const int64_t there : complete_steps(dir)) {
    const std::string name = checkpoint_name(there);
    const std::optional<std::string> other = run_at((fs::path(dir) / name).string());
    check<DataError>(other || there != step, "{}: holds a {} that cannot be read and is not replaced; name an empty folder",
                     dir, name);
    check<DataError>(!other || *other == run, "{}: holds {} of another run; name an empty folder", dir, name);
  }
}

void prune_checkpoints(FileCalls& calls, const std::string& dir, int64_t step, int64_t keep, const std::string& run) {
  std::vector<int64_t> older;
  for (const int64_t other : keep > 0 ? complete_steps(dir) : std::vector<int64_t>()) {
    if (other < step && run_at(dir + "/" + checkpoint_name(other)) == run) {
      older.push_back(other);
    }
  }
  for (size_t i = 0; static_cast<int64_t>(older.size() - i) > keep - 1 && i < older.size(); ++i) {
    const std::string path = dir + "/" + checkpoint_name(older[i]);
    remove_tree(calls, path + ".tmp");
    move(calls, path, path + ".tmp", dir);
  }
  for (const std::string& name : names_in(dir)) {
    if (is_leftover(name)) {
      remove_tree(calls, dir + "/" + name);
    }
  }
}

}  // namespace ringlet
