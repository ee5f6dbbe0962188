// A model of a disk that loses its power.
//
// The calls of a save are recorded and replayed on it: writes to a file are durable from the next fsync of the file on, names in a
// directory from the next fsync of the directory on. A state after power loss is a prefix of the calls, without any subset of what
// was not durable at its end, writes also torn in the middle: more than a real file system would forget.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dist/checkpoint/file_calls.h"
#include "test/dist/temporary_directory.h"

namespace ringlet::test {

struct Node {
  bool is_directory = false;
  std::map<std::string, int> entries{};
  std::string bytes{};
};

// One change of one node, all or nothing.
struct Change {
  int node;                     // whose content it changes
  std::string name{}, other{};  // of a directory: `name` becomes `there`; `other`, if any, `other_there`
  int there = -1;               // −1: nothing
  int other_there = -1;
  size_t offset = 0;  // of a file
  std::string bytes{};
  size_t durable_from = SIZE_MAX;  // the number of calls after which it is durable
};

enum class Fate : uint8_t { Kept, Lost, Torn };

// Records what is called and makes it, too. The first node is the directory `root`.
class RecordedDisk final : public FileCalls {
 public:
  explicit RecordedDisk(std::string root) : root_(std::move(root)), live_{Node{.is_directory = true}} {}

  int64_t make(const FileCall& call) override {
    const std::scoped_lock lock(mutex_);
    const int64_t result = FileCalls::make(call);
    if (result < 0) {
      return result;
    }
    ++calls_;
    const std::string path(call.path);
    switch (call.kind) {
      case FileCall::Kind::Open: open(path, call.flags); break;
      case FileCall::Kind::Write: {
        const int node = find(path);
        const std::string bytes(reinterpret_cast<const char*>(call.bytes.data()), static_cast<size_t>(result));
        add({.node = node, .offset = live_[static_cast<size_t>(node)].bytes.size(), .bytes = bytes});
        break;
      }
      case FileCall::Kind::Fsync: sync(find(path)); break;
      case FileCall::Kind::Rename: {
        const auto [parent, from] = place(path);
        add({.node = parent, .name = place(std::string(call.to)).second, .other = from, .there = find(path)});
        break;
      }
      case FileCall::Kind::Exchange: {
        const auto [parent, from] = place(path);
        add({.node = parent,
             .name = place(std::string(call.to)).second,
             .other = from,
             .there = find(path),
             .other_there = find(std::string(call.to))});
        break;
      }
      case FileCall::Kind::MakeDirectory: create(path, true); break;
      case FileCall::Kind::Unlink:
      case FileCall::Kind::RemoveDirectory: add({.node = place(path).first, .name = place(path).second}); break;
      default: break;
    }
    return result;
  }

  size_t calls() const { return calls_; }
  /// The changes that the first `calls` calls have made and not made durable.
  std::vector<size_t> pending(size_t calls) const {
    std::vector<size_t> which;
    for (size_t i = 0; i < changes_.size(); ++i) {
      if (made_at_[i] <= calls && changes_[i].durable_from > calls) {
        which.push_back(i);
      }
    }
    return which;
  }
  /// Writes the state after `calls` calls, each change as `fates` says, to the directory `to`.
  void materialize(size_t calls, const std::vector<Fate>& fates, const std::string& to) const {
    std::vector<Node> nodes(live_.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].is_directory = live_[i].is_directory;
    }
    for (size_t i = 0; i < changes_.size() && made_at_[i] <= calls; ++i) {
      Change change = changes_[i];
      if (fates[i] == Fate::Torn) {
        change.bytes.resize(change.bytes.size() / 2);
      }
      if (fates[i] != Fate::Lost) {
        apply(change, nodes);
      }
    }
    write(nodes, 0, to);
  }
  size_t changes() const { return changes_.size(); }

 private:
  static void apply(const Change& change, std::vector<Node>& nodes) {
    Node& node = nodes[static_cast<size_t>(change.node)];
    if (!node.is_directory) {
      node.bytes.resize(std::max(node.bytes.size(), change.offset + change.bytes.size()));  // a hole reads as zeros
      node.bytes.replace(change.offset, change.bytes.size(), change.bytes);
      return;
    }
    const auto set = [&](const std::string& name, int there) {
      if (there < 0) {
        node.entries.erase(name);
      } else {
        node.entries[name] = there;
      }
    };
    set(change.name, change.there);
    if (!change.other.empty()) {
      set(change.other, change.other_there);
    }
  }
  static void write(const std::vector<Node>& nodes, int index, const std::string& path) {
    const Node& node = nodes[static_cast<size_t>(index)];
    if (!node.is_directory) {
      write_file(path, node.bytes);
      return;
    }
    std::filesystem::create_directory(path);
    for (const auto& [name, there] : node.entries) {
      write(nodes, there, path + "/" + name);
    }
  }

  // The directory that holds the last name of `path`, and that name.
  std::pair<int, std::string> place(const std::string& path) const {
    const std::filesystem::path relative = std::filesystem::path(path).lexically_relative(root_);
    int node = 0;
    for (const std::filesystem::path& part : relative.parent_path()) {
      node = live_[static_cast<size_t>(node)].entries.at(part.string());
    }
    return {node, relative.filename().string()};
  }
  int find(const std::string& path) const {
    if (std::filesystem::path(path).lexically_normal() == std::filesystem::path(root_).lexically_normal()) {
      return 0;
    }
    const auto [parent, name] = place(path);
    return live_[static_cast<size_t>(parent)].entries.at(name);
  }
  void add(Change change) {
    apply(change, live_);
    changes_.push_back(std::move(change));
    made_at_.push_back(calls_);
  }
  void create(const std::string& path, bool is_directory) {
    live_.push_back(Node{.is_directory = is_directory});
    const auto [parent, name] = place(path);
    add({.node = parent, .name = name, .there = static_cast<int>(live_.size()) - 1});
  }
  void open(const std::string& path, int flags) {
    if ((flags & O_CREAT) != 0) {
      create(path, false);
    }
  }
  void sync(int node) {
    for (Change& change : changes_) {
      if (change.node == node) {
        change.durable_from = std::min(change.durable_from, calls_);
      }
    }
  }

  std::mutex mutex_;
  std::string root_;
  std::vector<Node> live_;
  std::vector<Change> changes_;
  std::vector<size_t> made_at_;
  size_t calls_ = 0;
};

}  // namespace ringlet::test
