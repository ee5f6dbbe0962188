#include "test/emulated_gpu/runtime/touch_report.h"

#include <signal.h>
#include <unistd.h>

#include "test/emulated_gpu/runtime/memory.h"

namespace ringlet::emulated_gpu {
namespace {

struct sigaction before;

// A fault in host code: it holds no lock of ours. Returning repeats the fault, with the handler there was before.
void on_fault(int, siginfo_t* fault, void*) {
  if (is_on_device(fault->si_addr)) {
    constexpr char kText[] = "emulated gpu: host code touches device memory\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
  }
  sigaction(SIGSEGV, &before, nullptr);
}

}  // namespace

void report_touches_of_device_memory() {
  [[maybe_unused]] static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    return sigaction(SIGSEGV, &action, &before) == 0;
  }();
}

}  // namespace ringlet::emulated_gpu
