#include "apps/training/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/training/failure.h"

namespace ringlet {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// A device or a pipe (/dev/null, /dev/stdout): written as it is, never replaced by a rename.
bool is_special(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

// Writes and closes; errno, or 0.
int write_to(const std::string& path, const std::string& text) {
  File file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (file == nullptr) {
    return errno;
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
  return written ? 0 : errno;
}

}  // namespace

void require_writable(const std::string& flag, const std::string& path) {
  check<UsageError>(!std::filesystem::is_directory(path), "{}: {} is a folder, a file is needed", flag, path);
  if (is_special(path)) {
    return;
  }
  std::string probe = path + ".XXXXXX";
  const int file = mkstemp(probe.data());
  check<UsageError>(file >= 0, "{}: {} cannot be written: {}", flag, path, std::strerror(errno));
  close(file);
  std::remove(probe.c_str());
}

void write_whole_file(const std::string& path, const std::string& text) {
  const bool special = is_special(path);
  const std::string target = special ? path : path + ".tmp";
  int error = write_to(target, text);
  if (error == 0 && !special && std::rename(target.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0 && !special) {
    std::remove(target.c_str());
  }
  check<DataError>(error == 0, "{}: cannot be written: {}", path, std::strerror(error));
}

LineFile::LineFile(const std::string& path, const std::string& kept) : path_(path), file_(std::fopen(path.c_str(), "w")) {
  check<DataError>(file_ != nullptr, "{}: cannot be written: {}", path_, std::strerror(errno));
  if (!kept.empty()) {
    append(kept.back() == '\n' ? kept.substr(0, kept.size() - 1) : kept);
  }
}

void LineFile::append(const std::string& line) {
  const std::string whole = line + "\n";
  const bool written = std::fwrite(whole.data(), 1, whole.size(), file_.get()) == whole.size() && std::fflush(file_.get()) == 0;
  check<DataError>(written, "{}: cannot be written: {}", path_, std::strerror(errno));
}

}  // namespace ringlet
