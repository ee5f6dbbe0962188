#include <array>
#include <utility>

#include "apps/bench/gpu_bench/memory_rows.h"
#include "apps/bench/harness/gpu_numbers.h"
#include "tensor/base/gpu.h"
#include "tensor/kernels/table.h"

namespace ringlet {
namespace {

// w, g, m and v are read; w, m and v written. All parameters in one call, as a step has them.
MemoryRow adamw_row(const GptShapes& shapes) {
  return {"adamw", "f32", "28·P", 28 * shapes.P(), [P = shapes.P(), sizes = shapes.parameters()] {
            std::array<Tensor, 4> wgmv;
            for (Tensor& one : wgmv) {
              one = gpu_numbers({P}, DType::F32);
            }
            wgmv[3].zero();  // v is no square where it is negative
            std::vector<kernels::AdamWSlice<float>> slices;
            int64_t at = 0;
            for (const int64_t n : sizes) {
              slices.push_back({wgmv[0].mutable_data<float>() + at, wgmv[1].data<float>() + at,
                                wgmv[2].mutable_data<float>() + at, wgmv[3].mutable_data<float>() + at, n, 0.1});
              at += n;
            }
            check(at == P, "gpu_bench: the parameters have {} elements, got {}", P, at);
            const kernels::AdamWScalars<float> scalars = {1e-3, 0.9F, 0.999F, 0.1F, 0.001F, 1e-3F, 1e-8F};
            return [=] {
              static_cast<void>(wgmv.size());  // held while they are updated
              kernels::tables_on(Device::Kind::Cuda).f32.adamw(slices.data(), static_cast<int64_t>(slices.size()), scalars);
            };
          }};
}

// Sums the squares of a gradient, exactly; the gradient of f32 in memory, or of bf16.
template <typename T, typename Kernel>
MemoryRow square_sum_row(int64_t P, Kernel square_sum) {
  return {"square_sum", std::string(name_of(dtype_of<T>)), "P·e", P * int64_t{sizeof(T)}, [=] {
            const Tensor g = gpu_numbers({P}, dtype_of<T>);
            Tensor sum = Tensor::zeros({int64_t{sizeof(kernels::SquareLimbs)}}, DType::U8);
            return
                [=]() mutable { square_sum(g.data<T>(), P, reinterpret_cast<kernels::SquareLimbs*>(sum.mutable_raw_data())); };
          }};
}

MemoryRow divide_and_scale_row(int64_t P) {
  return {"divide_and_scale", "f32", "8·P", 8 * P, [=] {
            Tensor g = gpu_numbers({P}, DType::F32);
            return [=]() mutable {
              kernels::tables_on(Device::Kind::Cuda).f32.divide_and_scale(g.mutable_data<float>(), P, 2.0F, 1.0F);
            };
          }};
}

}  // namespace

std::vector<MemoryRow> parameter_rows(const GptShapes& shapes) {
  const kernels::Tables& tables = kernels::tables_on(Device::Kind::Cuda);
  return {adamw_row(shapes), divide_and_scale_row(shapes.P()), square_sum_row<float>(shapes.P(), tables.f32.square_sum),
          square_sum_row<bf16>(shapes.P(), tables.b16.square_sum)};
}

MemoryRow copy_row(int64_t bytes) {
  return {"copy", "u8", "2·D", 2 * bytes, [=] {
            const Tensor from = Tensor::zeros({bytes}, DType::U8);
            Tensor to = Tensor::empty({bytes}, DType::U8);
            return [=]() mutable { gpu().start_copy(to.mutable_raw_data(), from.raw_data(), static_cast<size_t>(bytes)); };
          }};
}

}  // namespace ringlet
