// NCCL for the ranks of a job: the library, and who gets which GPU.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "collectives/backends/mpi.h"
#include "collectives/backends/nccl.h"

namespace ringlet {
namespace {

constexpr const char* kLibrary = "libringlet_nccl.so";

// Where the library may be, the surest first. A name without a folder is looked for by the system.
std::vector<std::string> candidates() {
  if (const char* named = std::getenv("RINGLET_NCCL_LIBRARY"); named != nullptr && *named != '\0') {
    return {named};
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return {(program.parent_path() / kLibrary).string(), (program.parent_path() / ".." / "lib" / kLibrary).string(), kLibrary};
}

struct Opened {
  NcclLibrary* library = nullptr;
  std::string why_not{};

  Opened() {
    for (const std::string& name : candidates()) {
      if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        const auto entry = reinterpret_cast<NcclEntry>(dlsym(handle, kNcclEntry));
        library = entry == nullptr ? nullptr : entry(kNcclInterface);
        why_not = library == nullptr ? message("{} is of another version; build it together with this program", name) : "";
        return;
      }
      const char* error = dlerror();
      const bool there = name.find('/') != std::string::npos && std::filesystem::exists(name);
      why_not = error == nullptr ? name : error;
      if (there) {
        return;
      }
    }
    if (std::getenv("RINGLET_NCCL_LIBRARY") == nullptr) {
      why_not = message("this build has no {}; build with the CUDA toolkit and NCCL for one", kLibrary);
    }
  }
};

// Of the process, and never closed.
const Opened& opened() {
  static const Opened& one = *new Opened;
  return one;
}

// Why this rank cannot take a GPU of its own; empty when it can.
std::string obstacle(const HostPlace& place) {
  if (std::string why_not = why_no_gpu(); !why_not.empty()) {
    return why_not + "; take the device cpu and the backend mpi";
  }
  if (opened().library == nullptr) {
    return opened().why_not + "; take the backend mpi, which moves device memory too";
  }
  const int devices = gpu().device_count();
  return place.size <= devices ? ""
                               : message(
                                     "needs a GPU for each rank of a host, got {} ranks and {} GPU{}; take --backend mpi "
                                     "--device cuda, whose ranks may share one",
                                     place.size, devices, devices == 1 ? "" : "s");
}

// All ranks hear of the first that cannot.
void agree_that_all_can(Communicator& host, const std::string& obstacle) {
  int64_t first = obstacle.empty() ? host.size() : host.rank();
  host.all_reduce(std::span(&first, 1), ReduceOp::Min);
  if (first == host.size()) {
    return;
  }
  const auto culprit = static_cast<int>(first);
  auto length = static_cast<int64_t>(obstacle.size());
  host.broadcast(std::span(&length, 1), culprit);
  std::vector<uint8_t> text(obstacle.begin(), obstacle.end());
  text.resize(static_cast<size_t>(length));
  host.broadcast(text, culprit);
  const std::string reason(text.begin(), text.end());
  fail<BackendUnavailable>(host.size() == 1 ? message("nccl: {}", reason) : message("nccl: rank {}: {}", culprit, reason));
}

}  // namespace

NcclLibrary& nccl_library() {
  check<BackendUnavailable>(opened().library != nullptr, "nccl: {}", opened().why_not);
  return *opened().library;
}

void require_nccl() {
  const std::string why_not = obstacle({});
  check<BackendUnavailable>(why_not.empty(), "nccl: {}", why_not);
}

std::string nccl_description() {
  const std::string why_not = obstacle({});
  return why_not.empty() ? opened().library->version() : "no: " + why_not;
}

std::unique_ptr<Communicator> make_nccl_world(std::unique_ptr<Communicator> host, const NcclOptions& options) {
  const HostPlace place = place_on_host();
  agree_that_all_can(*host, obstacle(place));
  return make_nccl(std::move(host), nccl_library(), gpu(), place.rank, options);
}

}  // namespace ringlet
