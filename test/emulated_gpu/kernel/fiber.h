// A stack of its own, and the switch from one stack to another: some nanoseconds, no call of the system.
#pragma once

#include <cstddef>

namespace ringlet::emulated_gpu {

/// Where a flow of control stands while another one runs. A default one stands for the stack of the calling host thread.
class Context {
 public:
  Context();
  /// A flow that begins with `main(argument)`, on a stack of its own, when it is first switched to. `main` never returns.
  Context(void (*main)(void*), void* argument);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Stops here and goes on in `to`; returns when somebody switches back.
  void switch_to(Context& to);

 private:
  static void enter(Context* self);

  void (*main_)(void*) = nullptr;
  void* argument_ = nullptr;
  void* stack_pointer_ = nullptr;  // or what stands for it
  void* mapping_ = nullptr;        // null on the stack of a host thread
  const void* stack_bottom_ = nullptr;
  size_t stack_bytes_ = 0;
  void* sanitizer_state_ = nullptr;
};

}  // namespace ringlet::emulated_gpu
