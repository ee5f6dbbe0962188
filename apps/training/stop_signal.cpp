#include "apps/training/stop_signal.h"

#include <signal.h>

namespace ringlet {
namespace {

volatile sig_atomic_t first_signal = 0;  // a signal handler can reach nothing else

extern "C" void remember(int signal) {
  if (first_signal == 0) {
    first_signal = signal;
  }
}

void on_stop_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;  // a write or a wait under way goes on
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal(bool wanted) : wanted_(wanted) {
  first_signal = 0;
  if (wanted_) {
    on_stop_signals(&remember);
  }
}

StopSignal::~StopSignal() {
  if (wanted_) {
    on_stop_signals(first_signal == 0 ? SIG_DFL : SIG_IGN);  // what was saved after one is not undone by another
  }
}

int StopSignal::received() const { return wanted_ ? static_cast<int>(first_signal) : 0; }

}  // namespace ringlet
