// ringlet-ckpt: looks at checkpoints, without MPI and without the model that they are of.
#include <fcntl.h>
#include <sys/file.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/ringlet_ckpt/inspect.h"
#include "apps/training/counted.h"
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
std::string name_at_end(const std::string& path) { return std::filesystem::path(path + "/").parent_path().filename().string(); }

Json described(const std::string& path, bool is_latest) {
  const Manifest manifest = read_manifest_file(path);
  int64_t bytes = 0, parameters = 0;
  for (const ShardRecord& shard : manifest.shards) {
    bytes += shard.bytes;
  }
  for (const TensorRecord& tensor : manifest.tensors) {
    parameters += tensor.kind == "master" || tensor.kind == "frozen" ? tensor.shape.numel() : 0;
  }
  return {{"path", path},
          {"step", manifest.step},
          {"world_size", manifest.world_size},
          {"parameters", parameters},
          {"tensors", manifest.tensors.size()},
          {"bytes", bytes},
          {"wall_clock_seconds", manifest.wall_clock_seconds},
          {"run", run_of(manifest)},
          {"latest", is_latest},
          {"fault", nullptr}};
}

std::string in_words(const Json& row) {
  return message("{}  step {}  {}  {} parameters  {} tensors  {} bytes{}", row["path"].get<std::string>(),
                 row["step"].get<int64_t>(), counted(row["world_size"], "rank"), row["parameters"].get<int64_t>(),
                 row["tensors"].get<int64_t>(), row["bytes"].get<int64_t>(), row["latest"].get<bool>() ? "  latest" : "");
}

// By their manifests alone.
ExitCode list(const Asked& asked) {
  const auto latest = find_latest(asked.path);
  Json all = Json::array();
  bool sound = true;
  for (const std::string& path : checkpoints_at(asked.path)) {
    const bool is_latest = latest && name_at_end(latest->path) == name_at_end(path);
    std::string words;
    try {
      words = in_words(all.emplace_back(described(path, is_latest)));
    } catch (const DataError& error) {
      sound = false;
      all.push_back({{"path", path}, {"latest", is_latest}, {"fault", error.what()}});
      words = message("DAMAGED {}{}", error.what(), is_latest ? "  latest" : "");
    }
    if (!asked.json) {
      print(words);
    }
  }
  if (asked.json) {
    print_json(all);
  }
  return sound ? ExitCode::Done : ExitCode::Checkpoint;
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

// The one checkpoint that a path means: itself, or the latest in it.
std::string one_at(const std::string& path) {
  const std::vector<std::string> all = checkpoints_at(path);
  if (all.size() == 1 && all[0] == path) {
    return path;
  }
  const FoundCheckpoint latest = find_latest(path).value();
  if (!latest.note.empty()) {
    std::fprintf(stderr, "ringlet-ckpt: note: %s\n", latest.note.c_str());
  }
  return latest.path;
}

ExitCode diff(const Asked& asked) {
  const Difference found = compare_checkpoints(one_at(asked.path), one_at(asked.other));
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

// A job holds the lock of the folders that it writes to. Kept until this process ends.
void require_free(const std::string& dir) {
  const int file = open((dir + "/.lock").c_str(), O_RDWR | O_CLOEXEC);
  check<DataError>(file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0, "{}: is in use by a run; name another folder", dir);
}

ExitCode write(const Asked& asked, const std::string& how) {
  const std::string from = one_at(asked.path);
  std::string to = asked.other;
  check<DataError>(how != "export" || !std::filesystem::exists(std::filesystem::symlink_status(to)),
                   "{}: must not exist yet, it is not replaced", to);
  if (how != "export") {
    require_free(to);
  }
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

ExitCode obey(const std::string& command, const Asked& asked) {
  if (command == "list") {
    return list(asked);
  }
  if (command == "verify") {
    return verify(asked);
  }
  return command == "diff" ? diff(asked) : write(asked, command);
}

// CLI11 would not say what it got, nor what there is.
void require_command(const CLI::App& app, const std::string& word) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word || word.starts_with('-')) {
      return;
    }
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  throw CLI::ParseError(message("ringlet-ckpt: {}; one of {}",
                                word.empty() ? "needs a command, got none" : message("no such command, got '{}'", word), names),
                        CLI::ExitCodes::RequiredError);
}

ExitCode run(int argc, char** argv) {
  CLI::App app("Looks at checkpoints of ringlet. PATH is a checkpoint (DIR/step_...) or a folder of them.", "ringlet-ckpt");
  app.footer("Exit codes: 0 done; 1 diff: they differ; 2 usage; 4 a checkpoint is damaged or cannot be read or written");
  Asked asked;
  const auto command = [&](const char* name, const char* help) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("PATH", asked.path, "a checkpoint, or a folder of them")->required();
    sub->add_flag("--json", asked.json, "for machines");
    return sub;
  };
  command("list", "which checkpoints there are");
  CLI::App* verifies = command("verify", "compare every file with its manifest, all checkpoints of a folder");
  verifies->add_flag("--fast", asked.fast, "by xxHash3: every accident at ten times the speed, no proof against intent");
  CLI::App* diffs = command("diff", "what two checkpoints hold differently; of a folder the latest");
  diffs->add_option("OTHER", asked.other, "what PATH is compared with")->required();
  CLI::App* exports = command("export", "one safetensors file of the whole parameters; of a folder's latest checkpoint");
  exports->add_option("FILE", asked.other, "must not exist")->required();
  exports->add_flag("--all", asked.all, "the optimizer's state too, as kind/name");
  CLI::App* converts = command("convert", "the same state as a checkpoint of another number of ranks");
  converts->add_option("DIR", asked.other, "the folder to write to")->required();
  converts->add_option("--ranks", asked.ranks, "so many, 1 to 4096")->required()->check(CLI::Range(1, 4096));
  CLI::App* copies = command("copy", "a verified, durable copy in another folder");
  copies->add_option("DIR", asked.other, "the folder to write to")->required();
  app.require_subcommand(1);
  try {
    require_command(app, argc > 1 ? argv[1] : "");
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ExitCode::Done : ExitCode::Usage;
  }
  try {
    const ExitCode code = obey(app.get_subcommands().front()->get_name(), asked);
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
