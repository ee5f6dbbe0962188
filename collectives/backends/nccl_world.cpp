// NCCL for the ranks of a job: the library, and who gets which GPU.
#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <vector>

#include "collectives/backends/mpi.h"
#include "collectives/backends/nccl.h"
#include "tensor/base/optional_library.h"

namespace ringlet {
namespace {

constexpr const char* kLibrary = "libringlet_nccl.so";

struct Opened {
  NcclLibrary* nccl = nullptr;
  std::string why_not{};

  Opened() {
    const OptionalLibrary found = open_optional_library(kLibrary, "RINGLET_NCCL_LIBRARY", "the CUDA toolkit and NCCL");
    why_not = found.why_not;
    if (found.handle != nullptr) {
      const auto entry = reinterpret_cast<NcclEntry>(dlsym(found.handle, kNcclEntry));
      nccl = entry == nullptr ? nullptr : entry(kNcclInterface);
      why_not = nccl == nullptr ? message("{} is of another version; build it together with this program", found.name) : "";
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
  if (opened().nccl == nullptr) {
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
  check<BackendUnavailable>(opened().nccl != nullptr, "nccl: {}", opened().why_not);
  return *opened().nccl;
}

void require_nccl() {
  const std::string why_not = obstacle({});
  check<BackendUnavailable>(why_not.empty(), "nccl: {}", why_not);
}

std::string nccl_description() {
  const std::string why_not = obstacle({});
  return why_not.empty() ? opened().nccl->version() : "no: " + why_not;
}

std::unique_ptr<Communicator> make_nccl_world(std::unique_ptr<Communicator> host, const NcclOptions& options) {
  const HostPlace place = place_on_host();
  agree_that_all_can(*host, obstacle(place));
  return make_nccl(std::move(host), nccl_library(), gpu(), place.rank, options);
}

}  // namespace ringlet
