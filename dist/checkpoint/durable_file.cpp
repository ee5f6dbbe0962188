#include "dist/checkpoint/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

namespace fs = std::filesystem;
using Kind = FileCall::Kind;

[[noreturn]] void fail_at(std::string_view path, std::string_view step, int error) {
  fail<DataError>("{}: {} failed: {} (errno {})", path, step, std::generic_category().message(error), error);
}

// A call that must succeed.
int64_t must(FileCalls& calls, const FileCall& call, std::string_view name) {
  const int64_t result = calls.make(call);
  if (result < 0) {
    fail_at(call.to.empty() ? call.path : call.to, name, errno);
  }
  return result;
}
int64_t must(FileCalls& calls, const FileCall& call) { return must(calls, call, name_of(call.kind)); }

// Reads that a signal interrupted start again; a descriptor is closed on every way out.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : value_(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
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

DurableFile::DurableFile(FileCalls& calls, std::string path) : calls_(calls), path_(std::move(path)) {
  const FileCall open = {.kind = Kind::Open, .path = path_, .flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW};
  descriptor_ = static_cast<int>(must(calls_, open, "create"));
}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0) {
    calls_.make({.kind = Kind::Close, .path = path_, .descriptor = descriptor_});
  }
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t written = calls_.make({.kind = Kind::Write, .path = path_, .descriptor = descriptor_, .bytes = bytes});
    if (written < 0 && errno != EINTR) {
      fail_at(path_, "write", errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written < 0 ? 0 : written));  // a short write goes on where it stopped
  }
}

void DurableFile::sync_and_close() {
  must(calls_, {.kind = Kind::Fsync, .path = path_, .descriptor = descriptor_});
  must(calls_, {.kind = Kind::Close, .path = path_, .descriptor = std::exchange(descriptor_, -1)});
}

int64_t read_in_parts(const std::string& path, int64_t max_bytes, const SeePart& see) {
  constexpr int64_t kPart = 1 << 20;
  const Descriptor file(path);  // a pipe without a writer must not block
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    fail_at(path, "stat", errno);
  }
  check<DataError>(S_ISREG(status.st_mode), "{}: must be a regular file, got a {}", path,
                   S_ISDIR(status.st_mode) ? "directory" : "pipe or a device");
  check<DataError>(status.st_size <= max_bytes, "{}: must be at most {} bytes long, got {}", path, max_bytes,
                   static_cast<int64_t>(status.st_size));
  const auto length = static_cast<int64_t>(status.st_size);
  std::vector<std::byte> part(static_cast<size_t>(std::min(length, kPart)));
  for (int64_t seen = 0; seen < length;) {
    const ssize_t got = ::read(file.get(), part.data(), static_cast<size_t>(std::min(length - seen, kPart)));
    if (got < 0 && errno != EINTR) {
      fail_at(path, "read", errno);
    }
    check<DataError>(got != 0, "{}: {} bytes were announced, got {}", path, length, seen);
    see(seen, std::span(part).first(static_cast<size_t>(std::max<ssize_t>(got, 0))));
    seen += std::max<ssize_t>(got, 0);
  }
  return length;
}

std::vector<std::byte> read_regular_file(const std::string& path, int64_t max_bytes) {
  std::vector<std::byte> bytes;
  read_in_parts(path, max_bytes,
                [&](int64_t, std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
  return bytes;
}

void sync_directory(FileCalls& calls, const std::string& path) {
  const FileCall open = {.kind = Kind::Open, .path = path, .flags = O_RDONLY | O_DIRECTORY};
  const auto descriptor = static_cast<int>(must(calls, open));
  const int64_t synced = calls.make({.kind = Kind::Fsync, .path = path, .descriptor = descriptor});
  const int error = errno;
  calls.make({.kind = Kind::Close, .path = path, .descriptor = descriptor});  // read-only: closing it can lose nothing
  if (synced != 0) {
    fail_at(path, "fsync", error);
  }
}

void make_directories(FileCalls& calls, const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  const fs::path named = normal.has_filename() ? normal : normal.parent_path();
  const std::string parent = named.has_parent_path() ? named.parent_path().string() : ".";
  const FileCall make = {.kind = Kind::MakeDirectory, .path = path};
  int64_t made = calls.make(make);
  if (made != 0 && errno == ENOENT) {
    make_directories(calls, parent);
    made = calls.make(make);
  }
  std::error_code ignored;
  if (made == 0) {
    sync_directory(calls, parent);
  } else if (const int error = errno; error != EEXIST || !fs::is_directory(named, ignored)) {
    fail_at(path, "mkdir", error);
  }
}

void make_directory(FileCalls& calls, const std::string& path) { must(calls, {.kind = Kind::MakeDirectory, .path = path}); }

void move(FileCalls& calls, const std::string& from, const std::string& to, const std::string& parent) {
  must(calls, {.kind = Kind::Rename, .path = from, .to = to});
  sync_directory(calls, parent);
}

void replace(FileCalls& calls, const std::string& from, const std::string& to, const std::string& parent) {
  if (calls.make({.kind = Kind::Rename, .path = from, .to = to}) == 0) {
    sync_directory(calls, parent);
    return;
  }
  if (errno != ENOTEMPTY && errno != EEXIST) {
    fail_at(to, "rename", errno);
  }
  // A directory that is not empty stands there: the two change places in one step, or, where the file system cannot, in two. What
  // was there is removed only when that is durable: otherwise the disk could keep the removal and forget the exchange.
  if (calls.make({.kind = Kind::Exchange, .path = from, .to = to}) == 0) {
    sync_directory(calls, parent);
    remove_tree(calls, from);
    return;
  }
  const std::string aside = from + ".replaced.tmp";
  remove_tree(calls, aside);
  move(calls, to, aside, parent);
  move(calls, from, to, parent);
  remove_tree(calls, aside);
}

void remove_tree(FileCalls& calls, const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return;
  }
  if (!fs::is_directory(status)) {
    must(calls, {.kind = Kind::Unlink, .path = path}, "remove");
    return;
  }
  std::vector<std::string> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    entries.push_back(entry.path().string());
  }
  if (error) {
    fail_at(path, "remove", error.value());
  }
  for (const std::string& entry : entries) {
    remove_tree(calls, entry);
  }
  must(calls, {.kind = Kind::RemoveDirectory, .path = path}, "remove");
}

}  // namespace ringlet
