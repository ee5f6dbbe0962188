// Files for machines: checked before training starts, never left half written.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace ringlet {

/// Throws UsageError unless a file could be written at `path`: its folder exists and takes files, and it is not itself a folder.
/// `flag` is named in the message. Nothing is left behind.
void require_writable(const std::string& flag, const std::string& path);

/// Writes `text` to PATH.tmp and renames it to `path`. Throws DataError.
void write_whole_file(const std::string& path, const std::string& text);

/// A file that grows by lines, each of which is complete on disk when `append` returns.
class LineFile {
 public:
  /// Starts anew, or goes on behind `kept`, which replaces what was there.
  explicit LineFile(const std::string& path, const std::string& kept = "");
  void append(const std::string& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace ringlet
