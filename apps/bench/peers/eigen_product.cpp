#include "apps/bench/peers/eigen_product.h"

#include "tensor/base/check.h"

#ifdef RINGLET_EIGEN
#include <Eigen/Core>
#endif

namespace ringlet {

#ifdef RINGLET_EIGEN

namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace

bool eigen_available() { return true; }

void eigen_product_add(int64_t M, int64_t N, int64_t K, kernels::MatrixView<float> A, kernels::MatrixView<float> B, float* C) {
  Eigen::Map<RowMajor> c(C, M, N);
  const bool a_transposed = A.col != 1, b_transposed = B.col != 1;
  const Eigen::Map<const RowMajor> a(A.data, a_transposed ? K : M, a_transposed ? M : K);
  const Eigen::Map<const RowMajor> b(B.data, b_transposed ? N : K, b_transposed ? K : N);
  if (a_transposed) {
    c.noalias() += a.transpose() * b;
  } else if (b_transposed) {
    c.noalias() += a * b.transpose();
  } else {
    c.noalias() += a * b;
  }
}

#else

bool eigen_available() { return false; }

void eigen_product_add(int64_t, int64_t, int64_t, kernels::MatrixView<float>, kernels::MatrixView<float>, float*) {
  fail("eigen_product_add: built without Eigen");
}

#endif

}  // namespace ringlet
