#include "apps/training/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>

#include "apps/training/failure.h"

namespace ringlet {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Where the bytes go: behind links, so that a link stays one and the file that it names is replaced.
std::string target_of(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kLinks = 40;  // one after the other, as the system follows them
  std::error_code error;
  fs::path target = path;
  for (int i = 0; i < kLinks && fs::is_symlink(fs::symlink_status(target, error)); ++i) {  // also one that leads nowhere yet
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  target = fs::weakly_canonical(fs::absolute(target, error), error);
  return error ? path : target.string();
}

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
  std::error_code error;
  check<UsageError>(!std::filesystem::is_directory(path, error), "{}: {} is a folder, a file is needed", flag, path);
  if (is_special(path)) {
    return;
  }
  if (const int held = open(path.c_str(), O_WRONLY | O_CLOEXEC); held >= 0) {
    const bool free = flock(held, LOCK_EX | LOCK_NB) == 0;
    close(held);
    check<UsageError>(free, "{}: {} is being written by another run; name another file", flag, path);
  }
  std::string probe = target_of(path) + ".XXXXXX";
  const int file = mkstemp(probe.data());
  check<UsageError>(file >= 0, "{}: {} cannot be written: {}", flag, path, std::strerror(errno));
  close(file);
  std::remove(probe.c_str());
}

void write_whole_file(const std::string& path, const std::string& text) {
  const bool special = is_special(path);
  const std::string target = target_of(path);
  const std::string written = special ? path : message("{}.{}.tmp", target, getpid());  // nobody else's
  int error = write_to(written, text);
  if (error == 0 && !special && std::rename(written.c_str(), target.c_str()) != 0) {
    error = errno;
  }
  if (error != 0 && !special) {
    std::remove(written.c_str());
  }
  check<DataError>(error == 0, "{}: cannot be written: {}", path, std::strerror(error));
}

void require_different_files(const std::vector<NamedFile>& files) {
  for (const NamedFile& file : files) {
    for (const NamedFile& other : std::span(files).first(static_cast<size_t>(&file - files.data()))) {
      std::error_code error;
      const bool same = !file.path.empty() && !other.path.empty() &&
                        (target_of(file.path) == target_of(other.path) ||
                         std::filesystem::equivalent(file.path, other.path, error));  // two names of one file
      const bool both_are_thrown_away = same && is_special(file.path);
      check<UsageError>(!same || both_are_thrown_away, "{}: must be another file than {}, got {} and {}", file.flag, other.flag,
                        file.path, other.path);
    }
  }
}

LineFile::LineFile(const std::string& path, const std::string& kept) : path_(path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  check<DataError>(file >= 0, "{}: cannot be written: {}", path_, std::strerror(errno));
  file_.reset(fdopen(file, "w"));
  if (!is_special(path)) {  // until the process ends: two runs would write into each other
    check<DataError>(flock(file, LOCK_EX | LOCK_NB) == 0, "{}: is being written by another run; name another file", path_);
    check<DataError>(ftruncate(file, 0) == 0, "{}: cannot be written: {}", path_, std::strerror(errno));
  }
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
