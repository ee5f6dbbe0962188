// ringlet-ckpt: looks at checkpoints, without MPI and without the model that they are of.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/ringlet_ckpt/inspect.h"
#include "apps/training/exit_code.h"
#include "dist/checkpoint/checkpoint_directory.h"
#include "dist/checkpoint/checkpoint_publish.h"
#include "dist/checkpoint/logical_tensors.h"
#include "tensor/base/check.h"

namespace ringlet {
namespace {

using Json = nlohmann::ordered_json;

struct Asked {
  std::string path, other;
  bool json = false, fast = false, all = false;
  int64_t ranks = 1;
};

void print(const std::string& line) { std::printf("%s\n", line.c_str()); }
void print_json(const Json& json) { print(json.dump(2)); }

ExitCode list(const Asked& asked) {
  const auto latest = find_latest(asked.path);
  Json all = Json::array();
  for (const std::string& path : checkpoints_at(asked.path)) {
    const Manifest manifest = read_manifest_file(path);
    int64_t bytes = 0, parameters = 0;
    for (const ShardRecord& shard : manifest.shards) {
      bytes += shard.bytes;
    }
    for (const TensorRecord& tensor : manifest.tensors) {
      parameters += tensor.kind == "master" || tensor.kind == "frozen" ? tensor.shape.numel() : 0;
    }
    const bool is_latest = latest && step_of_name(latest->path.substr(latest->path.rfind('/') + 1)) == manifest.step;
    all.push_back({{"path", path},
                   {"step", manifest.step},
                   {"world_size", manifest.world_size},
                   {"parameters", parameters},
                   {"tensors", manifest.tensors.size()},
                   {"bytes", bytes},
                   {"wall_clock_seconds", manifest.wall_clock_seconds},
                   {"run", run_of(manifest)},
                   {"latest", is_latest}});
    if (!asked.json) {
      print(message("{}  step {}  {} ranks  {} parameters  {} tensors  {} bytes{}", path, manifest.step, manifest.world_size,
                    parameters, manifest.tensors.size(), bytes, is_latest ? "  latest" : ""));
    }
  }
  if (asked.json) {
    print_json(all);
  }
  return ExitCode::Done;
}

ExitCode verify(const Asked& asked) {
  Json all = Json::array();
  bool sound = true;
  for (const std::string& path : checkpoints_at(asked.path)) {
    const Verified found = verify_checkpoint(path, asked.fast ? HashKind::Fast : HashKind::Sha256);
    sound = sound && found.fault.empty();
    all.push_back({{"path", path},
                   {"files", found.files},
                   {"bytes", found.bytes},
                   {"by", asked.fast ? "xxh3" : "sha256"},
                   {"fault", found.fault.empty() ? Json(nullptr) : Json(found.fault)}});
    if (!asked.json) {
      print(found.fault.empty() ? message("VERIFIED {}: {} files, {} bytes by {}", path, found.files, found.bytes,
                                          asked.fast ? "xxHash3" : "SHA-256")
                                : message("DAMAGED {}", found.fault));
    }
  }
  if (asked.json) {
    print_json(all);
  }
  return sound ? ExitCode::Done : ExitCode::Checkpoint;
}

ExitCode diff(const Asked& asked) {
  const Difference found = compare_checkpoints(asked.path, asked.other);
  if (asked.json) {
    Json tensors = Json::array();
    for (const TensorDifference& tensor : found.tensors) {
      tensors.push_back({{"kind", tensor.kind}, {"name", tensor.name}, {"what", tensor.what}, {"largest", tensor.largest}});
    }
    print_json({{"same", found.same()}, {"settings", found.settings}, {"tensors", tensors}});
  } else {
    for (const std::string& line : found.settings) {
      print(line);
    }
    for (const TensorDifference& tensor : found.tensors) {
      print(message("{} of {}: {}{}", tensor.kind, tensor.name, tensor.what,
                    tensor.largest > 0.0 ? message(", by at most {}", tensor.largest) : ""));
    }
    print(found.same() ? "the same"
                       : message("{} settings and {} tensors differ", found.settings.size(), found.tensors.size()));
  }
  return found.same() ? ExitCode::Done : ExitCode::InvariantFailed;
}

// The one checkpoint that a path means: itself, or the latest in it.
std::string one_at(const std::string& path) {
  const std::vector<std::string> all = checkpoints_at(path);
  return all.size() == 1 && all[0] == path ? path : find_latest(path)->path;
}

ExitCode write(const Asked& asked, const std::string& how) {
  const std::string from = one_at(asked.path);
  std::string to = asked.other;
  if (how == "copy") {
    copy_checkpoint(system_calls(), from, asked.other, 0);
  } else {
    const Manifest manifest = read_manifest_file(from);
    const std::vector<LogicalTensor> tensors = read_logical_tensors(from, manifest);
    if (how == "export") {
      write_full_safetensors(asked.other, tensors, asked.all);
    } else {
      to = write_resharded(asked.other, manifest, tensors, static_cast<int>(asked.ranks));
    }
  }
  if (asked.json) {
    print_json({{"from", from}, {"to", to}});
  } else {
    print(message("{}: written from {}", to, from));
  }
  return ExitCode::Done;
}

ExitCode run(int argc, char** argv) {
  CLI::App app("Looks at checkpoints of ringlet. PATH is a checkpoint (DIR/step_...) or a folder of them.", "ringlet-ckpt");
  app.footer("Exit codes: 0 done; 1 diff: they differ; 2 usage; 4 a checkpoint is damaged or cannot be read or written");
  Asked asked;
  const auto command = [&](const char* name, const char* help) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("PATH", asked.path)->required();
    sub->add_flag("--json", asked.json, "for machines");
    return sub;
  };
  const CLI::App* lists = command("list", "which checkpoints there are");
  CLI::App* verifies = command("verify", "compare every file with its manifest, all checkpoints of a folder");
  verifies->add_flag("--fast", asked.fast, "by xxHash3: every accident at ten times the speed, no proof against intent");
  CLI::App* diffs = command("diff", "what two checkpoints hold differently");
  diffs->add_option("OTHER", asked.other)->required();
  CLI::App* exports = command("export", "one safetensors file of the whole parameters; of a folder's latest checkpoint");
  exports->add_option("FILE", asked.other, "must not exist")->required();
  exports->add_flag("--all", asked.all, "the optimizer's state too, as kind/name");
  CLI::App* converts = command("convert", "the same state as a checkpoint of another number of ranks");
  converts->add_option("DIR", asked.other)->required();
  converts->add_option("--ranks", asked.ranks)->required()->check(CLI::Range(1, 4096));
  CLI::App* copies = command("copy", "a verified, durable copy in another folder");
  copies->add_option("DIR", asked.other)->required();
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitCode::Done : ExitCode::Usage;
  }
  try {
    const ExitCode code = lists->parsed()      ? list(asked)
                          : verifies->parsed() ? verify(asked)
                          : diffs->parsed()
                              ? diff(asked)
                              : write(asked, exports->parsed() ? "export" : (copies->parsed() ? "copy" : "convert"));
    check<DataError>(std::fflush(stdout) == 0, "standard output: what was to be printed could not be written");
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ringlet-ckpt: %s\n", error.what());
    return ExitCode::Checkpoint;
  }
}

}  // namespace
}  // namespace ringlet

int main(int argc, char** argv) { return ringlet::to_int(ringlet::run(argc, argv)); }
