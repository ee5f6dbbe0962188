// What code compiled with -fsanitize=thread calls. Kernels are linked with these in place of ThreadSanitizer's.
#include <cstddef>
#include <cstdint>

#include "test/emulated_gpu/kernel/block_runner.h"

namespace {

using ringlet::emulated_gpu::AccessKind;

inline void look(const volatile void* at, size_t bytes, AccessKind kind) {
  if (!ringlet::emulated_gpu::looks_at_shared_memory) {
    return;
  }
  const auto address = reinterpret_cast<uintptr_t>(at);
  for (size_t memory = 0; memory < 2; ++memory) {
    const auto& shared = ringlet::emulated_gpu::shared_memory[memory];
    if (address - shared.begin < shared.bytes) {
      ringlet::emulated_gpu::BlockRunner::current().look_at(memory, address - shared.begin, bytes, kind);
    }
  }
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler's names
#define RINGLET_PLAIN(bytes)                                                         \
  void __tsan_read##bytes(void* at) { look(at, bytes, AccessKind::Read); }           \
  void __tsan_write##bytes(void* at) { look(at, bytes, AccessKind::Write); }         \
  void __tsan_unaligned_read##bytes(void* at) { look(at, bytes, AccessKind::Read); } \
  void __tsan_unaligned_write##bytes(void* at) { look(at, bytes, AccessKind::Write); }
#define RINGLET_CHANGE(bits, operation)                                                      \
  Word##bits __tsan_atomic##bits##_##operation(volatile Word##bits* at, Word##bits x, int) { \
    look(at, sizeof *at, AccessKind::Atomic);                                                \
    return __atomic_##operation(at, x, __ATOMIC_SEQ_CST);                                    \
  }
#define RINGLET_COMPARE(bits, strength, weak)                                                                             \
  int __tsan_atomic##bits##_compare_exchange_##strength(volatile Word##bits* at, Word##bits* expected, Word##bits x, int, \
                                                        int) {                                                            \
    look(at, sizeof *at, AccessKind::Atomic);                                                                             \
    return __atomic_compare_exchange_n(at, expected, x, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                        \
  }
#define RINGLET_ATOMIC(bits)                                                              \
  using Word##bits = uint##bits##_t;                                                      \
  Word##bits __tsan_atomic##bits##_load(const volatile Word##bits* at, int) {             \
    look(at, sizeof *at, AccessKind::Atomic);                                             \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                         \
  }                                                                                       \
  void __tsan_atomic##bits##_store(volatile Word##bits* at, Word##bits x, int) {          \
    look(at, sizeof *at, AccessKind::Atomic);                                             \
    __atomic_store_n(at, x, __ATOMIC_SEQ_CST);                                            \
  }                                                                                       \
  Word##bits __tsan_atomic##bits##_exchange(volatile Word##bits* at, Word##bits x, int) { \
    look(at, sizeof *at, AccessKind::Atomic);                                             \
    return __atomic_exchange_n(at, x, __ATOMIC_SEQ_CST);                                  \
  }                                                                                       \
  RINGLET_CHANGE(bits, fetch_add)                                                         \
  RINGLET_CHANGE(bits, fetch_sub)                                                         \
  RINGLET_CHANGE(bits, fetch_and)                                                         \
  RINGLET_CHANGE(bits, fetch_or)                                                          \
  RINGLET_CHANGE(bits, fetch_xor)                                                         \
  RINGLET_COMPARE(bits, strong, false)                                                    \
  RINGLET_COMPARE(bits, weak, true)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_read_range(void* at, size_t bytes) { look(at, bytes, AccessKind::Read); }
void __tsan_write_range(void* at, size_t bytes) { look(at, bytes, AccessKind::Write); }
RINGLET_PLAIN(1)
RINGLET_PLAIN(2)
RINGLET_PLAIN(4)
RINGLET_PLAIN(8)
RINGLET_PLAIN(16)
RINGLET_ATOMIC(8)
RINGLET_ATOMIC(16)
RINGLET_ATOMIC(32)
RINGLET_ATOMIC(64)
}
// NOLINTEND(bugprone-reserved-identifier)
