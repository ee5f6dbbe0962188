#include "dist/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_at(const std::string& path, std::string_view step, int error) {
  fail<DataError>("{}: {} failed: {} (errno {})", path, step, std::generic_category().message(error), error);
}

// Reads that a signal interrupted start again; a descriptor is closed on every way out.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : value_(::open(path.c_str(), flags | O_CLOEXEC)) {
    if (value_ < 0) {
      const int error = errno;
      check<DataError>(error != ELOOP, "{}: must be a regular file, got a symbolic link", path);
      fail_at(path, "open", error);
    }
  }
  ~Descriptor() { ::close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

}  // namespace

DurableFile::DurableFile(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) {
    fail_at(path_, "create", errno);
  }
}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      fail_at(path_, "write", errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written < 0 ? 0 : written));  // a short write goes on where it stopped
  }
}

void DurableFile::sync_and_close() {
  if (::fsync(descriptor_) != 0) {
    fail_at(path_, "fsync", errno);
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    fail_at(path_, "close", errno);
  }
}

std::vector<std::byte> read_regular_file(const std::string& path, int64_t max_bytes) {
  const Descriptor file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);  // a pipe without a writer must not block
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    fail_at(path, "stat", errno);
  }
  check<DataError>(S_ISREG(status.st_mode), "{}: must be a regular file, got a {}", path,
                   S_ISDIR(status.st_mode) ? "directory" : "pipe or a device");
  check<DataError>(status.st_size <= max_bytes, "{}: must be at most {} bytes long, got {}", path, max_bytes,
                   static_cast<int64_t>(status.st_size));
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno != EINTR) {
      fail_at(path, "read", errno);
    }
    check<DataError>(got != 0, "{}: {} bytes were announced, got {}", path, bytes.size(), filled);
    filled += static_cast<size_t>(got < 0 ? 0 : got);
  }
  return bytes;
}

void sync_directory(const std::string& path) {
  const Descriptor directory(path, O_RDONLY | O_DIRECTORY);
  if (::fsync(directory.get()) != 0) {
    fail_at(path, "fsync", errno);
  }
}

void make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    fail_at(path, "mkdir", error.value());
  }
}

void make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) {
    fail_at(path, "mkdir", errno);
  }
}

void replace(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) {
    return;
  }
  if (errno != ENOTEMPTY && errno != EEXIST) {
    fail_at(to, "rename", errno);
  }
  // A directory that is not empty stands there: the two change places in one step, or, where the file system cannot, in two.
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    const std::string aside = from + ".replaced.tmp";
    remove_tree(aside);
    if (::rename(to.c_str(), aside.c_str()) != 0 || ::rename(from.c_str(), to.c_str()) != 0) {
      fail_at(to, "rename", errno);
    }
    remove_tree(aside);
    return;
  }
  remove_tree(from);
}

void remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    fail_at(path, "remove", error.value());
  }
}

}  // namespace ringlet
