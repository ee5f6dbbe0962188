#include "tensor/kernels/cpu/labels.h"

#include "tensor/kernels/label_fault.h"

namespace ringlet::kernels {

void count_labels(const int32_t* labels, int64_t n, int32_t ignored, int64_t V, int64_t* counted) {
  *counted = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (labels[i] == ignored) {
      continue;
    }
    if (labels[i] < 0 || labels[i] >= V) {
      fail_for({LabelFault::Kind::Label, labels[i], ignored, i, V});
    }
    ++*counted;
  }
}

void check_ids(const int32_t* ids, int64_t n, int64_t V) {
  for (int64_t i = 0; i < n; ++i) {
    if (ids[i] < 0 || ids[i] >= V) {
      fail_for({LabelFault::Kind::Id, ids[i], 0, i, V});
    }
  }
}

}  // namespace ringlet::kernels
