// Files that are on the disk when we say so. Every failure is a `DataError` with the path, the step and what errno means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/checkpoint/file_calls.h"

namespace ringlet {

/// A new file, written from front to back.
class DurableFile {
 public:
  /// Must not exist yet. `calls` must outlive this.
  DurableFile(FileCalls& calls, std::string path);
  /// A file that was not closed by `sync_and_close` stays behind incomplete.
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// fsync and close, both checked.
  void sync_and_close();

 private:
  FileCalls& calls_;
  std::string path_;
  int descriptor_;
};

/// A part of a file, and where in it that begins.
using SeePart = std::function<void(int64_t offset, std::span<const std::byte> bytes)>;

/// Shows a regular file of at most `max_bytes` to `see`, from front to back, in parts of at most 1 MiB, the only memory that it takes.
/// Returns its length. A link, a directory, a pipe or a device is refused without waiting on it.
int64_t read_in_parts(const std::string& path, int64_t max_bytes, const SeePart& see);
/// The content of such a file.
std::vector<std::byte> read_regular_file(const std::string& path, int64_t max_bytes);

/// Makes the entries of a directory durable: new names, renames.
void sync_directory(FileCalls& calls, const std::string& path);
/// `path` and the directories above it, as far as they are missing, durable in those that hold them.
void make_directories(FileCalls& calls, const std::string& path);
/// A directory that must not exist yet.
void make_directory(FileCalls& calls, const std::string& path);
/// Atomically and durably in the directory `parent` of both; what stood at `to` is gone afterwards, a directory with all that was in it.
void replace(FileCalls& calls, const std::string& from, const std::string& to, const std::string& parent);
/// From one name to another that is free, durably.
void move(FileCalls& calls, const std::string& from, const std::string& to, const std::string& parent);
/// Also when it does not exist. Links are removed, not followed.
void remove_tree(FileCalls& calls, const std::string& path);

}  // namespace ringlet
