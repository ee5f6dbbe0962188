#include <utility>

#include "apps/bench/gpu_bench/memory_rows.h"
#include "apps/bench/harness/gpu_numbers.h"
#include "tensor/base/random.h"
#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

using kernels::Arithmetic;

constexpr double kEps = 1e-5;

template <typename T>
class Rows {
 public:
  // Copied into every call, so that each has the sizes; `rows` is what it adds to.
  Rows(const GptShapes& shapes, std::vector<MemoryRow>& rows) : shapes_(shapes), rows_(rows) {}

  void add_all() {
    layer_norm();
    gelu("gelu_tanh", k_.gelu_tanh, k_.gelu_tanh_backward);
    gelu("gelu_erf", k_.gelu_erf, k_.gelu_erf_backward);
    cross_entropy();
    embedding();
    elementwise();
    sums_and_casts();
  }

 private:
  void add(const char* kernel, const char* formula, int64_t bytes, std::function<std::function<void()>()> make) {
    rows_.push_back({kernel, std::string(name_of(kType)), formula, bytes, std::move(make)});
  }
  static Tensor numbers(const Shape& shape) { return gpu_numbers(shape, kType); }
  static Tensor result(const Shape& shape) { return Tensor::empty(shape, kType); }
  static Tensor of_rows(int64_t n) { return Tensor::full({n}, 1.0); }  // a mean or ρ: fp32 for both types

  // y = (x − μ)·ρ·γ + β, and what goes back to x, and to γ and β. Whole: one pass over dy and x could do for both.
  void layer_norm() {
    add("layer_norm", "2·N·C·e + 2·C·e + 8·N", 2 * N * C * e + 2 * C * e + 8 * N, [=, *this] {
      const Tensor x = numbers({N, C}), gamma = numbers({C}), beta = numbers({C});
      Tensor y = result({N, C}), mean = of_rows(N), rstd = of_rows(N);
      return [=, *this]() mutable {
        k_.layer_norm(x.data<T>(), gamma.data<T>(), beta.data<T>(), kEps, y.mutable_data<T>(), mean.mutable_data<float>(),
                      rstd.mutable_data<float>(), N, C);
      };
    });
    const auto backward = [=, *this](bool to_x, bool to_weights) {
      return [=, *this] {
        const Tensor dy = numbers({N, C}), x = numbers({N, C}), gamma = numbers({C}), mean = of_rows(N), rstd = of_rows(N);
        Tensor dx = result({N, C}), dgamma = result({C}), dbeta = result({C});
        return [=, *this]() mutable {
          const float *mu = mean.data<float>(), *rho = rstd.data<float>();
          if (to_x) {
            k_.layer_norm_backward(dy.data<T>(), x.data<T>(), gamma.data<T>(), mu, rho, dx.mutable_data<T>(), N, C);
          }
          if (to_weights) {
            k_.layer_norm_backward_weights(dy.data<T>(), x.data<T>(), mu, rho, dgamma.mutable_data<T>(),
                                           dbeta.mutable_data<T>(), N, C);
          }
        };
      };
    };
    add("layer_norm_backward", "3·N·C·e + C·e + 8·N", 3 * N * C * e + C * e + 8 * N, backward(true, false));
    add("layer_norm_backward_weights", "2·N·C·e + 2·C·e + 8·N", 2 * N * C * e + 2 * C * e + 8 * N, backward(false, true));
    add("layer_norm_backward_whole", "3·N·C·e + 3·C·e + 8·N", 3 * N * C * e + 3 * C * e + 8 * N, backward(true, true));
  }

  template <typename Forward, typename Backward>
  void gelu(const std::string& name, Forward forward, Backward backward) {
    add(name.c_str(), "2·N·H·e", 2 * N * H * e, [=, *this] {
      const Tensor x = numbers({N * H});
      Tensor y = result({N * H});
      return [=, *this]() mutable { forward(x.data<T>(), y.mutable_data<T>(), N * H); };
    });
    add((name + "_backward").c_str(), "3·N·H·e", 3 * N * H * e, [=, *this] {
      const Tensor dy = numbers({N * H}), x = numbers({N * H});
      Tensor dx = result({N * H});
      return [=, *this]() mutable { backward(dy.data<T>(), x.data<T>(), dx.mutable_data<T>(), N * H); };
    });
  }

  // Labels are ids; what is saved for backward is a logarithm in fp64 for each row.
  void cross_entropy() {
    add("cross_entropy", "N·V·e + 12·N", N * V * e + 12 * N, [=, *this, ids = shapes_.ids()] {
      const Tensor z = numbers({N, V}), labels = Tensor::from(ids, {N});
      Tensor log_sum = Tensor::empty({N}, DType::F64), sum = Tensor::empty({});
      return [=, *this]() mutable {
        k_.cross_entropy(z.data<T>(), labels.data<int32_t>(), -1, log_sum.mutable_data<double>(), sum.mutable_data<float>(), N,
                         V);
      };
    });
    add("cross_entropy_backward", "2·N·V·e + 12·N", 2 * N * V * e + 12 * N, [=, *this, ids = shapes_.ids()] {
      const Tensor z = numbers({N, V}), labels = Tensor::from(ids, {N});
      const Tensor log_sum = Tensor::full({N}, 10.0, DType::F64), d = Tensor::full({}, 1.0);
      Tensor dz = result({N, V});
      return [=, *this]() mutable {
        k_.cross_entropy_backward(d.data<float>(), z.data<T>(), labels.data<int32_t>(), -1, log_sum.data<double>(),
                                  dz.mutable_data<T>(), N, V);
      };
    });
  }

  // A row of the table that comes several times is read once; its gradient is added to what is there.
  void embedding() {
    const int64_t U = shapes_.U();
    add("embedding", "U·C·e + N·C·e + 4·N", U * C * e + N * C * e + 4 * N, [=, *this, ids = shapes_.ids()] {
      const Tensor table = numbers({V, C}), at = Tensor::from(ids, {N});
      Tensor y = result({N, C});
      return [=, *this]() mutable { k_.embedding(table.data<T>(), at.data<int32_t>(), y.mutable_data<T>(), N, C, V); };
    });
    add("embedding_backward", "2·U·C·e + N·C·e + 4·N", 2 * U * C * e + N * C * e + 4 * N, [=, *this, ids = shapes_.ids()] {
      const Tensor dy = numbers({N, C}), at = Tensor::from(ids, {N});
      Tensor dtable = Tensor::zeros({V, C}, kType);
      return
          [=, *this]() mutable { k_.embedding_backward(dy.data<T>(), at.data<int32_t>(), dtable.mutable_data<T>(), N, C, V); };
    });
  }

  void elementwise() {
    add("dropout", "2·N·C·e", 2 * N * C * e, [=, *this] {
      const Tensor x = numbers({N * C});
      Tensor y = result({N * C});
      const RandomStream stream(41, "gpu_bench/dropout");
      return [=, *this]() mutable { k_.dropout(x.data<T>(), y.mutable_data<T>(), N * C, 0.1, stream, 0); };
    });
    const auto sum_of = [=, *this](const Shape& b_shape, const Shape& b_strides) {
      const kernels::Runs runs = kernels::merge_runs({N, C}, {C, 1}, {C, 1}, b_strides);
      return [=, *this] {
        const Tensor a = numbers({N, C}), b = numbers(b_shape);
        Tensor y = result({N, C});
        return [=, *this]() mutable { k_.arithmetic(Arithmetic::Add, runs, y.mutable_data<T>(), a.data<T>(), b.data<T>()); };
      };
    };
    add("residual_add", "3·N·C·e", 3 * N * C * e, sum_of({N, C}, {C, 1}));
    add("row_add", "2·N·C·e + C·e", 2 * N * C * e + C * e, sum_of({C}, {0, 1}));
    add("scale", "2·N·C·e", 2 * N * C * e, [=, *this] {
      const kernels::Runs runs = kernels::merge_runs({N, C}, {C, 1}, {C, 1}, {0, 0});
      const Tensor x = numbers({N, C});
      Tensor y = result({N, C});
      return
          [=, *this]() mutable { k_.arithmetic_number(Arithmetic::Multiply, runs, y.mutable_data<T>(), x.data<T>(), T(0.5F)); };
    });
  }

  // The gradient of the MLP's first bias is the sum over tokens; a cast goes to the other of the two types.
  void sums_and_casts() {
    add("column_sum", "N·H·e + H·e", N * H * e + H * e, [=, *this] {
      const Tensor x = numbers({N, H});
      Tensor y = result({H});
      return [=, *this]() mutable { k_.sum(x.data<T>(), y.mutable_data<T>(), 1, N, H); };
    });
    add("cast", "6·N·C", 6 * N * C, [=, *this] {
      const DType other = kType == DType::F32 ? DType::BF16 : DType::F32;
      const Tensor x = numbers({N * C});
      Tensor y = Tensor::empty({N * C}, other);
      return [=, *this]() mutable {
        kernels::tables_on(Device::Kind::Cuda)
            .copy_strided(other, y.mutable_raw_data(), {1}, kType, x.raw_data(), {1}, {N * C});
      };
    });
  }

  static constexpr DType kType = dtype_of<T>;
  const GptShapes& shapes_;
  const kernels::Table<T>& k_ = kernels::tables_on(Device::Kind::Cuda).of<T>();
  const int64_t N = shapes_.N(), C = shapes_.C(), H = shapes_.H(), V = shapes_.V(), e = int64_t{sizeof(T)};
  std::vector<MemoryRow>& rows_;
};

}  // namespace

std::vector<MemoryRow> activation_rows(const GptShapes& shapes) {
  std::vector<MemoryRow> rows;
  Rows<float>(shapes, rows).add_all();
  Rows<bf16>(shapes, rows).add_all();
  return rows;
}

}  // namespace ringlet
