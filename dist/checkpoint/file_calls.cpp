#include "dist/checkpoint/file_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace ringlet {

std::string_view name_of(FileCall::Kind kind) {
  switch (kind) {
    case FileCall::Kind::Open: return "open";
    case FileCall::Kind::Write: return "write";
    case FileCall::Kind::Fsync: return "fsync";
    case FileCall::Kind::Close: return "close";
    case FileCall::Kind::Rename: return "rename";
    case FileCall::Kind::Exchange: return "exchange";
    case FileCall::Kind::MakeDirectory: return "mkdir";
    case FileCall::Kind::Unlink: return "unlink";
    default: return "rmdir";
  }
}

int64_t FileCalls::make(const FileCall& call) {
  const std::string path(call.path), to(call.to);
  switch (call.kind) {
    case FileCall::Kind::Open: return ::open(path.c_str(), call.flags | O_CLOEXEC, 0644);
    case FileCall::Kind::Write: return ::write(call.descriptor, call.bytes.data(), call.bytes.size());
    case FileCall::Kind::Fsync: return ::fsync(call.descriptor);
    case FileCall::Kind::Close: return ::close(call.descriptor);
    case FileCall::Kind::Rename: return ::rename(path.c_str(), to.c_str());
    case FileCall::Kind::Exchange: return ::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE);
    case FileCall::Kind::MakeDirectory: return ::mkdir(path.c_str(), 0755);
    case FileCall::Kind::Unlink: return ::unlink(path.c_str());
    default: return ::rmdir(path.c_str());
  }
}

FileCalls& system_calls() {
  static FileCalls calls;
  return calls;
}

}  // namespace ringlet
