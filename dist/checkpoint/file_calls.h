// The system calls by which a save changes the disk, through one narrow door: a test that stands in it can record them, let any of
// them fail, or kill the process before or after any of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ringlet {

struct FileCall {
  enum class Kind : uint8_t { Open, Write, Fsync, Close, Rename, Exchange, MakeDirectory, Unlink, RemoveDirectory };
  Kind kind;
  std::string_view path;               // of Write, Fsync and Close: by which the descriptor was opened
  std::string_view to{};               // Rename, Exchange
  int descriptor = -1;                 // Write, Fsync, Close
  int flags = 0;                       // Open
  std::span<const std::byte> bytes{};  // Write
};

std::string_view name_of(FileCall::Kind kind);

/// Called by several threads at once.
class FileCalls {
 public:
  virtual ~FileCalls() = default;
  /// Makes the call. What comes back is what the system returns: −1 with errno when it failed, a descriptor, bytes written.
  virtual int64_t make(const FileCall& call);
};

/// Those of the system, with nobody in the door. Without state.
FileCalls& system_calls();

}  // namespace ringlet
