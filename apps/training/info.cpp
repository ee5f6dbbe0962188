#include "apps/training/info.h"

#include <algorithm>

#include "collectives/backends/mpi.h"
#include "collectives/backends/nccl.h"
#include "tensor/base/build_info.h"
#include "tensor/base/gpu.h"

namespace ringlet {
namespace {

// The GPU of this rank's host, and what carries data between several.
std::string cuda_text() {
  const std::string why_not = why_no_gpu();
  return why_not.empty() ? gpu().description(0) : "no: " + why_not;
}

}  // namespace

std::string info_text(const Communicator& world, const ThreadChoice& threads) {
  const BuildInfo build = build_info();
  const char* openmp =
#if defined(_OPENMP)
      "with OpenMP";
#else
      "without OpenMP";
#endif
  std::string text;
  text += message("ringlet    {} ({})\n", build.version, build.commit.empty() ? "no commit known" : build.commit);
  text += message("build      {}, {}\n", build.build_type, build.compiler);
  text += message("flags      {}\n", build.flags.substr(std::min(build.flags.size(), build.flags.find_first_not_of(' '))));
  text +=
      message("CPU level  {} (asked for: {})\n", build.cpu_level, build.arch.empty() ? "the compiler's default" : build.arch);
  text += message("kernels    our own, f32 and f64, compiled for that level, {}\n", openmp);
  text += message("threads    {}\n", threads.text(world.size()));
  text += message("MPI        {}, thread level {}\n", mpi_library(), MpiSession().thread_level());
  const std::string details = world.transport_details();
  text += message("transport  {}, backend {}{}{}\n", world.transport(), world.name(), details.empty() ? "" : "; ", details);
  text += message("CUDA       {}\n", cuda_text());
  text += message("NCCL       {}\n", nccl_description());
  return text;
}

}  // namespace ringlet
