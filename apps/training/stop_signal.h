// Being asked to stop: SIGTERM and SIGUSR1 do not end the process at once, it shall save and go.
#pragma once

namespace ringlet {

/// One at a time in a process.
class StopSignal {
 public:
  /// While it lives these two signals are only remembered; if not `wanted`, they do what they always do.
  explicit StopSignal(bool wanted);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// The first that this process received, or 0.
  int received() const;

 private:
  bool wanted_;
};

}  // namespace ringlet
