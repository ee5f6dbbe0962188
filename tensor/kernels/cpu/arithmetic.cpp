#include "tensor/kernels/cpu/arithmetic.h"

#include <utility>

namespace ringlet::kernels {
namespace {

// The three patterns that matter have a loop of their own, which the compiler turns into vectors.
template <typename T, typename F>
void loop(const Runs& runs, T* y, const T* a, const T* b, F f) {
  const int64_t sy = runs.y[0], sa = runs.a[0], sb = runs.b[0];
  for_each_run(runs, [=](const Run& run) {
    T* __restrict out = y + run.y;
    const T *left = a + run.a, *right = b + run.b;
    if (sy == 1 && sa == 1 && sb == 1) {
      for (int64_t i = 0; i < run.length; ++i) {
        out[i] = f(left[i], right[i]);
      }
    } else if (sy == 1 && sa == 1 && sb == 0) {
      const T number = *right;
      for (int64_t i = 0; i < run.length; ++i) {
        out[i] = f(left[i], number);
      }
    } else if (sy == 1 && sa == 0 && sb == 1) {
      const T number = *left;
      for (int64_t i = 0; i < run.length; ++i) {
        out[i] = f(number, right[i]);
      }
    } else {
      for (int64_t i = 0; i < run.length; ++i) {
        out[i * sy] = f(left[i * sa], right[i * sb]);
      }
    }
  });
}

template <typename T, typename F>
void loop_into(const Runs& runs, T* y, const T* b, F f) {
  const int64_t sy = runs.y[0], sb = runs.b[0];
  for_each_run(runs, [=](const Run& run) {
    T* out = y + run.y;
    const T* right = b + run.b;
    if (sy == 1 && sb == 1) {
      for (int64_t i = 0; i < run.length; ++i) {
        out[i] = f(out[i], right[i]);
      }
    } else if (sy == 1 && sb == 0) {
      const T number = *right;
      for (int64_t i = 0; i < run.length; ++i) {
        out[i] = f(out[i], number);
      }
    } else {
      for (int64_t i = 0; i < run.length; ++i) {
        out[i * sy] = f(out[i * sy], right[i * sb]);
      }
    }
  });
}

template <typename Call>
void with_operation(Arithmetic op, Call&& call) {
  switch (op) {
    case Arithmetic::Add: return call([](auto a, auto b) { return a + b; });
    case Arithmetic::Subtract: return call([](auto a, auto b) { return a - b; });
    case Arithmetic::Multiply: return call([](auto a, auto b) { return a * b; });
    case Arithmetic::Divide: return call([](auto a, auto b) { return a / b; });
  }
}

}  // namespace

template <typename T>
void arithmetic(Arithmetic op, const Runs& runs, T* y, const T* a, const T* b) {
  with_operation(op, [&](auto f) { loop(runs, y, a, b, f); });
}

template <typename T>
void arithmetic_into(Arithmetic op, const Runs& runs, T* y, const T* b) {
  with_operation(op, [&](auto f) { loop_into(runs, y, b, f); });
}

template <typename T>
void arithmetic_number(Arithmetic op, const Runs& runs, T* y, const T* a, T c) {
  arithmetic(op, runs, y, a, &c);
}

template <typename T>
void arithmetic_number_into(Arithmetic op, const Runs& runs, T* y, T c) {
  arithmetic_into(op, runs, y, &c);
}

template void arithmetic(Arithmetic, const Runs&, float*, const float*, const float*);
template void arithmetic(Arithmetic, const Runs&, double*, const double*, const double*);
template void arithmetic_into(Arithmetic, const Runs&, float*, const float*);
template void arithmetic_into(Arithmetic, const Runs&, double*, const double*);
template void arithmetic_number(Arithmetic, const Runs&, float*, const float*, float);
template void arithmetic_number(Arithmetic, const Runs&, double*, const double*, double);
template void arithmetic_number_into(Arithmetic, const Runs&, float*, float);
template void arithmetic_number_into(Arithmetic, const Runs&, double*, double);

}  // namespace ringlet::kernels
