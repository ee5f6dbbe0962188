// cuBLASLt thinks of matrices in columns. Rows of C are columns of Cᵀ = Bᵀ·Aᵀ, so it is given B first, then A, each with its rows as
// columns; the bias, one number per column of C, is then one per row of Cᵀ, which is where cuBLASLt adds one.
#include "tensor/kernels/cuda/lt_product.h"

#include <cublasLt.h>

#include <map>
#include <memory>
#include <tuple>

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {
namespace {

void check_lt(cublasStatus_t status, std::string_view who) {
  if (status != CUBLAS_STATUS_SUCCESS) [[unlikely]] {
    fail<DeviceError>("{}: {}", who, cublasLtGetStatusString(status));
  }
}

template <typename Handle, auto destroy>
struct Destroy {
  void operator()(Handle handle) const { destroy(handle); }
};
template <typename Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

constexpr size_t kWorkspaceBytes = size_t{32} << 20;
constexpr uintptr_t kAlignment = 16;  // what the widest loads want

cudaDataType_t type_of(DType dtype) {
  return dtype == DType::F64 ? CUDA_R_64F : dtype == DType::BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

// All addresses of rows and of batch members, in bytes.
bool is_aligned(const LtProduct& p) {
  const auto size = static_cast<int64_t>(size_of(p.dtype));
  const auto fits = [size](const void* data, int64_t ld, int64_t step) {
    return (reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(ld * size) | static_cast<uintptr_t>(step * size)) %
               kAlignment ==
           0;
  };
  return fits(p.A.data, p.A.ld, p.A.step) && fits(p.B.data, p.B.ld, p.B.step) && fits(p.C, p.ldc, p.c_step) &&
         fits(p.bias, 0, 0);
}

// All that the choice of a kernel may depend on.
auto key_of(const LtProduct& p) {
  return std::tuple(p.dtype, p.M, p.N, p.K, p.A.transposed, p.A.ld, p.A.step, p.B.transposed, p.B.ld, p.B.step, p.ldc, p.c_step,
                    p.batches, p.adds, p.bias != nullptr, p.tf32, is_aligned(p));
}

template <auto set, typename Object, typename Attribute, typename Value>
void set_attribute(const Object& object, Attribute attribute, const Value& value) {
  check_lt(set(object.get(), attribute, &value, sizeof value), "cublasLt: setting an attribute");
}

Description description_of(const LtProduct& p) {
  const bool wide = p.dtype == DType::F64;
  const cublasComputeType_t compute = wide ? CUBLAS_COMPUTE_64F : p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t made = nullptr;
  check_lt(cublasLtMatmulDescCreate(&made, compute, wide ? CUDA_R_64F : CUDA_R_32F), "cublasLtMatmulDescCreate");
  Description description(made);
  constexpr auto set = cublasLtMatmulDescSetAttribute;
  set_attribute<set>(description, CUBLASLT_MATMUL_DESC_TRANSA, p.B.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set_attribute<set>(description, CUBLASLT_MATMUL_DESC_TRANSB, p.A.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (p.bias != nullptr) {
    set_attribute<set>(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set_attribute<set>(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(p.dtype));
    set_attribute<set>(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                       p.bias);  // the choice of a kernel looks at its alignment
  }
  return description;
}

// Of a matrix with these columns, which are rows of ours.
Layout layout_of(const LtProduct& p, int64_t rows, int64_t columns, int64_t ld, int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  check_lt(cublasLtMatrixLayoutCreate(&made, type_of(p.dtype), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), ld),
           "cublasLtMatrixLayoutCreate");
  Layout layout(made);
  if (p.batches > 1) {
    constexpr auto set = cublasLtMatrixLayoutSetAttribute;
    set_attribute<set>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(p.batches));
    set_attribute<set>(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
  }
  return layout;
}

Layout layout_of(const LtProduct& p, const LtMatrix& m, int64_t rows, int64_t columns) {
  return m.transposed ? layout_of(p, rows, columns, m.ld, m.step) : layout_of(p, columns, rows, m.ld, m.step);
}

// Partial sums along k are kept in the type of the computation and added in a step of their own: in one order, unlike sums in place,
// and without rounding them to bf16.
Preference preference_of(const LtProduct& p) {
  cublasLtMatmulPreference_t made = nullptr;
  check_lt(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  Preference preference(made);
  constexpr auto set = cublasLtMatmulPreferenceSetAttribute;
  set_attribute<set>(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  set_attribute<set>(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                     static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const auto alignment = static_cast<uint32_t>(is_aligned(p) ? kAlignment : size_of(p.dtype));
  for (const auto matrix : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set_attribute<set>(preference, matrix, alignment);
  }
  return preference;
}

// What cuBLASLt needs to know of a shape, and the kernel that it chose: the same one whenever the shape comes again.
struct Plan {
  Plan(cublasLtHandle_t handle, const LtProduct& p)
      : description(description_of(p)),
        first(layout_of(p, p.B, p.K, p.N)),
        second(layout_of(p, p.A, p.M, p.K)),
        result(layout_of(p, p.N, p.M, p.ldc, p.c_step)) {
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, description.get(), first.get(), second.get(), result.get(), result.get(),
                                       preference_of(p).get(), 1, &best, &found);
    exists = status == CUBLAS_STATUS_SUCCESS && found == 1 && best.state == CUBLAS_STATUS_SUCCESS;
    algorithm = best.algo;
  }
  Description description;
  Layout first, second, result;
  bool exists = false;
  cublasLtMatmulAlgo_t algorithm{};
};

// What a host thread has on one device.
class Products {
 public:
  Products() {
    check_lt(cublasLtCreate(&handle_), "cublasLtCreate");
    check_cuda(cudaMalloc(&workspace_, kWorkspaceBytes), "cudaMalloc for cuBLASLt");
  }
  ~Products() {
    cudaFree(workspace_);
    cublasLtDestroy(handle_);
  }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  bool run(const LtProduct& p) {
    const Plan& plan = plans_.try_emplace(key_of(p), handle_, p).first->second;
    return plan.exists && (p.dtype == DType::F64 ? run<double>(plan, p) : run<float>(plan, p));
  }

 private:
  template <typename Scale>
  bool run(const Plan& plan, const LtProduct& p) {
    const Scale alpha = 1, beta = p.adds ? 1 : 0;
    if (p.bias != nullptr) {
      set_attribute<cublasLtMatmulDescSetAttribute>(plan.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    }
    check_lt(cublasLtMatmul(handle_, plan.description.get(), &alpha, p.B.data, plan.first.get(), p.A.data, plan.second.get(),
                            &beta, p.C, plan.result.get(), p.C, plan.result.get(), &plan.algorithm, workspace_, kWorkspaceBytes,
                            cudaStreamPerThread),
             "cublasLtMatmul");
    return true;
  }

  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  std::map<decltype(key_of(std::declval<LtProduct>())), Plan> plans_;
};

}  // namespace

bool run_lt_product(const LtProduct& product) {
  thread_local std::map<int, Products> on_device;
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return on_device[device].run(product);
}

}  // namespace ringlet::kernels::cuda
