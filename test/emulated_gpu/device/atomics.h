// Atomic operations of kernels, on integers. There is none on floats: the order of their sums would be anybody's.
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>

template <std::integral T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_sub(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).exchange(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_and(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_or(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_xor(value, std::memory_order_relaxed);
}
template <std::integral T>
T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(compare, value, std::memory_order_relaxed);
  return compare;  // what stood there, either way
}
template <std::integral T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  T old = std::atomic_ref<T>(*address).load(std::memory_order_relaxed);
  while (old < value && !std::atomic_ref<T>(*address).compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
  return old;
}
template <std::integral T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  T old = std::atomic_ref<T>(*address).load(std::memory_order_relaxed);
  while (value < old && !std::atomic_ref<T>(*address).compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
  return old;
}

inline void __threadfence_block() { std::atomic_thread_fence(std::memory_order_acq_rel); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_system() { std::atomic_thread_fence(std::memory_order_seq_cst); }
