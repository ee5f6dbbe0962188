#include "dist/replica_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dist/agreement.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

// One line per parameter, tied name and buffer.
std::vector<std::string> describe(const Module& module) {
  std::vector<std::string> lines;
  for (const NamedParameter& parameter : module.parameters()) {
    const Var& var = parameter.var;
    lines.push_back(
        message("parameter {} {} {}{}", parameter.name, var.shape(), var.dtype(), var.requires_grad() ? "" : " frozen"));
  }
  for (const auto& [alias, name] : module.tied_names()) {
    lines.push_back(message("parameter {} tied to {}", alias, name));
  }
  for (const NamedBuffer& buffer : module.buffers()) {
    lines.push_back(message("buffer {} {} {}", buffer.name, buffer.tensor.shape(), buffer.tensor.dtype()));
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

std::string first_difference(const std::string& first, const std::vector<std::string>& mine) {
  size_t begin = 0;
  for (const std::string& line : mine) {
    const size_t end = std::min(first.find('\n', begin), first.size());
    if (first.compare(begin, end - begin, line) != 0) {
      const std::string theirs = begin < first.size() ? first.substr(begin, end - begin) : "nothing more";
      return message("{} on rank 0, {}", theirs, line);
    }
    begin = std::min(end + 1, first.size());
  }
  return begin == first.size() ? ""
                               : message("{} on rank 0, nothing more", first.substr(begin, first.find('\n', begin) - begin));
}

}  // namespace

void check_same_module(Communicator& comm, const Module& module) {
  const std::vector<std::string> mine = describe(module);
  if (same_on_all_ranks(comm, hash_text(joined(mine)))) {
    return;
  }
  const std::string difference = first_difference(broadcast_text(comm, joined(mine), 0), mine);
  const std::string first = agree_on_fault(comm, difference.empty() ? "" : message("{} on rank {}", difference, comm.rank()));
  fail("strategy: all ranks must have the same parameters and buffers in the same order, got {}", first);
}

}  // namespace ringlet
