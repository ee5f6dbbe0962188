#include "dist/replica_check.h"

#include <algorithm>
#include <array>
#include <charconv>
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

// The shortest text that no other number has.
std::string exact(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

void check_same_lines(Communicator& comm, const char* rule, const std::vector<std::string>& mine) {
  if (same_on_all_ranks(comm, hash_text(joined(mine)))) {
    return;
  }
  const std::string difference = first_difference(broadcast_text(comm, joined(mine), 0), mine);
  const std::string first = agree_on_fault(comm, difference.empty() ? "" : message("{} on rank {}", difference, comm.rank()));
  fail("{}, got {}", rule, first);
}

}  // namespace

void check_same_module(Communicator& comm, const Module& module) {
  check_same_lines(comm, "strategy: all ranks must have the same parameters and buffers in the same order", describe(module));
}

void check_same_options(Communicator& comm, const ParallelOptions& options) {
  check_same_lines(
      comm, "strategy: all ranks must have the same options",
      {message("first bucket of {} bytes, others of {}", options.buckets.first_bytes, options.buckets.bytes),
       message("overlap {}", options.overlap), message("reduce_every_micro_batch {}", options.reduce_every_micro_batch),
       message("bf16_gradients {}", options.bf16_gradients), message("reshard_after_forward {}", options.reshard_after_forward),
       message("prefetch {}", options.prefetch), message("record {}", options.record),
       message("shard_ranks {}", options.shard_ranks)});
}

void check_same_step(Communicator& comm, int64_t steps, double max_norm, double last_lr) {
  check_same_lines(comm, "finish: all ranks must be in the same step, and give it the same",
                   {message("step {}", steps + 1), message("max_norm {}", exact(max_norm)),
                    message("lr {} of the update before", exact(last_lr))});
}

void check_same_optimizer(Communicator& comm, const OptimizerConfig& config) {
  check_same_lines(comm, "optimizer: all ranks must have the same",
                   {message("name {}", config.name), message("beta1 {}", exact(config.beta1)),
                    message("beta2 {}", exact(config.beta2)), message("eps {}", exact(config.eps)),
                    message("momentum {}", exact(config.momentum)), message("weight_decay {}", exact(config.weight_decay))});
}

}  // namespace ringlet
