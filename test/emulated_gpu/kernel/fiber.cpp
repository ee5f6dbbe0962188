#include "test/emulated_gpu/kernel/fiber.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#ifndef __x86_64__
#include <ucontext.h>
#endif

#ifdef __SANITIZE_ADDRESS__
extern "C" void __sanitizer_start_switch_fiber(void** save, const void* bottom, size_t bytes);
extern "C" void __sanitizer_finish_switch_fiber(void* saved, const void** bottom, size_t* bytes);
#endif
#ifdef __SANITIZE_THREAD__
extern "C" void* __tsan_get_current_fiber();
extern "C" void* __tsan_create_fiber(unsigned flags);
extern "C" void __tsan_destroy_fiber(void* fiber);
extern "C" void __tsan_switch_to_fiber(void* fiber, unsigned flags);
#endif

#ifdef __x86_64__
// Saves what a called function must keep, and returns on the other stack.
extern "C" void ringlet_emulated_gpu_switch(void** save, void* load);
asm(R"(
.text
.type ringlet_emulated_gpu_switch, @function
ringlet_emulated_gpu_switch:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size ringlet_emulated_gpu_switch, .-ringlet_emulated_gpu_switch
)");
#endif

namespace ringlet::emulated_gpu {
namespace {

constexpr size_t kPage = 4096;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 64 * kPage;
#else
constexpr size_t kStackBytes = 16 * kPage;
#endif

thread_local Context* entered = nullptr;  // who is entered for the first time

}  // namespace

Context::Context() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* bottom = nullptr;
  pthread_attr_getstack(&attributes, &bottom, &stack_bytes_);
  pthread_attr_destroy(&attributes);
  stack_bottom_ = bottom;
#ifdef __SANITIZE_THREAD__
  sanitizer_state_ = __tsan_get_current_fiber();
#endif
#ifndef __x86_64__
  stack_pointer_ = new ucontext_t;
#endif
}

Context::Context(void (*main)(void*), void* argument) : main_(main), argument_(argument), stack_bytes_(kStackBytes) {
  // The lowest page is out of bounds: a stack that overflows ends in a fault, not in another one's frames.
  mapping_ = mmap(nullptr, kPage + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (mapping_ == MAP_FAILED || mprotect(mapping_, kPage, PROT_NONE) != 0) {
    throw std::bad_alloc();
  }
  auto* bottom = static_cast<char*>(mapping_) + kPage;
  stack_bottom_ = bottom;
  // Tops at the same place of a page would share a few sets of the cache, and a block has up to 1,024 of them.
  static std::atomic<size_t> created{0};
  const size_t shift = created++ * 7 % 32 * 128;
#ifdef __x86_64__
  auto** top = reinterpret_cast<void**>(bottom + kStackBytes - shift);
  *--top = nullptr;  // where `enter` would return to; now the stack is as the ABI wants it at the begin of a function
  *--top = reinterpret_cast<void*>(+[] { enter(entered); });
  stack_pointer_ = top - 6;  // six registers, all zero in fresh memory
#else
  auto* context = new ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = bottom;
  context->uc_stack.ss_size = kStackBytes - shift;
  context->uc_link = nullptr;
  makecontext(
      context, +[] { enter(entered); }, 0);
  stack_pointer_ = context;
#endif
#ifdef __SANITIZE_THREAD__
  sanitizer_state_ = __tsan_create_fiber(0);
#endif
}

Context::~Context() {
#ifndef __x86_64__
  delete static_cast<ucontext_t*>(stack_pointer_);
#endif
  if (mapping_ != nullptr) {
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(sanitizer_state_);
#endif
    munmap(mapping_, kPage + kStackBytes);
  }
}

void Context::enter(Context* self) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
  self->main_(self->argument_);
  std::abort();
}

void Context::switch_to(Context& to) {
  entered = &to;
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&sanitizer_state_, to.stack_bottom_, to.stack_bytes_);
#endif
#ifdef __SANITIZE_THREAD__
  __tsan_switch_to_fiber(to.sanitizer_state_, 0);
#endif
#ifdef __x86_64__
  ringlet_emulated_gpu_switch(&stack_pointer_, to.stack_pointer_);
#else
  swapcontext(static_cast<ucontext_t*>(stack_pointer_), static_cast<ucontext_t*>(to.stack_pointer_));
#endif
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(sanitizer_state_, nullptr, nullptr);
#endif
}

}  // namespace ringlet::emulated_gpu
