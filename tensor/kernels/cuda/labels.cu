#include "tensor/kernels/cuda/labels.h"

#include "tensor/kernels/cuda/team.cuh"
#include "tensor/kernels/label_fault.h"

namespace ringlet::kernels::cuda {
namespace {

using Kind = LabelFault::Kind;

// Where kernels report: pinned host memory, which they write through the bus, once, and the host reads without a copy.
class FaultReport {
 public:
  FaultReport() {
    check_cuda(
        cudaHostAlloc(reinterpret_cast<void**>(&fault_), sizeof(LabelFault), cudaHostAllocPortable | cudaHostAllocMapped),
        "cudaHostAlloc");
    *fault_ = LabelFault{};
  }
  ~FaultReport() {
    (void)cudaStreamSynchronize(cudaStreamPerThread);  // a kernel may still write
    (void)cudaFreeHost(fault_);
  }
  FaultReport(const FaultReport&) = delete;
  FaultReport& operator=(const FaultReport&) = delete;
  LabelFault& fault() { return *fault_; }

  static FaultReport& of_thread() {
    thread_local FaultReport report;
    return report;
  }

 private:
  LabelFault* fault_ = nullptr;
};

struct CountAndFirst {
  int64_t counted, first;  // how many count; where the first stands that is out of range, n when none is
};
struct JoinCountAndFirst {
  __device__ CountAndFirst operator()(CountAndFirst a, CountAndFirst b) const {
    return {a.counted + b.counted, a.first < b.first ? a.first : b.first};
  }
};
__device__ CountAndFirst from_lane(CountAndFirst v, int distance) {
  return {__shfl_xor_sync(kAllLanes, v.counted, distance), __shfl_xor_sync(kAllLanes, v.first, distance)};
}

// One block, of a warp up to 1,024 labels and of 1,024 threads beyond: 65,536 labels are 64 rounds of 4 KB, some 20 us, and
// neither a second launch nor an atomic is needed.
__global__ __launch_bounds__(1024) void check_kernel(const int32_t* labels, int64_t n, LabelFault rule, int64_t* counted,
                                                     LabelFault* report) {
  CountAndFirst mine = {0, n};
  for_each_pack<1>(n, [&](int64_t i) {
    const int32_t label = labels[i];
    const bool counts = rule.kind == Kind::Id || label != rule.ignored;
    const bool fits = label >= 0 && label < rule.V;
    mine = JoinCountAndFirst{}(mine, {counts && fits ? 1 : 0, counts && !fits ? i : n});
  });
  const CountAndFirst all = join_team(mine, JoinCountAndFirst{});
  if (threadIdx.x != 0) {
    return;
  }
  if (counted != nullptr) {
    *counted = all.counted;
  }
  if (all.first < n && report->kind == Kind::None) {
    rule.value = labels[all.first];
    rule.position = all.first;
    *report = rule;
  }
}

void check_labels(const int32_t* labels, int64_t n, const LabelFault& rule, int64_t* counted) {
  launch(check_kernel, dim3(1), dim3(n <= 1024 ? kLanes : 1024), 0, labels, n, rule, counted,
         &FaultReport::of_thread().fault());
}

}  // namespace

void count_labels(const int32_t* labels, int64_t n, int32_t ignored, int64_t V, int64_t* counted) {
  check_labels(labels, n, {.kind = Kind::Label, .ignored = ignored, .V = V}, counted);
}

void check_ids(const int32_t* ids, int64_t n, int64_t V) { check_labels(ids, n, {.kind = Kind::Id, .V = V}, nullptr); }

void fail_for_label_fault() {
  LabelFault& report = FaultReport::of_thread().fault();
  if (report.kind != Kind::None) {
    const LabelFault fault = report;
    report = LabelFault{};
    fail_for(fault);
  }
}

}  // namespace ringlet::kernels::cuda
