// Files for machines: checked before training starts, never left half written.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace ringlet {

/// Throws UsageError unless a file could be written at `path`: its folder exists and takes files, it is not itself a folder, and no other
/// run is writing lines to it. `flag` is named in the message. Nothing is left behind.
void require_writable(const std::string& flag, const std::string& path);

/// A file that a flag names; an empty path is none.
struct NamedFile {
  std::string flag;
  std::string path;
};

/// Throws UsageError where two of them are one file, however it is spelled, linked or named a second time: an output would replace what
/// is read, or another output. Devices may be shared.
void require_different_files(const std::vector<NamedFile>& files);

/// Writes `text` to PATH.PROCESS.tmp and renames it to `path`; where that is a link, to the file that it names. Throws DataError.
void write_whole_file(const std::string& path, const std::string& text);

/// A file that grows by lines, each of which is complete on disk when `append` returns. Locked while it is open: one that another run
/// writes is a DataError.
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
