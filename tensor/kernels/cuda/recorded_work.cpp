#include "tensor/kernels/cuda/recorded_work.h"

#include "tensor/kernels/cuda/launch.h"

namespace ringlet::kernels::cuda {
namespace {

class Graph final : public RecordedWork {
 public:
  explicit Graph(cudaGraph_t graph) : graph_(graph) {
    if (const cudaError_t error = cudaGraphInstantiate(&executable_, graph_, 0); error != cudaSuccess) {
      (void)cudaGraphDestroy(graph_);
      check_cuda(error, "cudaGraphInstantiate");
    }
  }
  ~Graph() override {
    (void)cudaGraphExecDestroy(executable_);
    (void)cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() override { check_cuda(cudaGraphLaunch(executable_, cudaStreamPerThread), "cudaGraphLaunch"); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

std::unique_ptr<RecordedWork> record_work(const std::function<void()>& work) {
  check_cuda(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    (void)cudaStreamEndCapture(cudaStreamPerThread, &graph);
    if (graph != nullptr) {
      (void)cudaGraphDestroy(graph);
    }
    (void)cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(cudaStreamPerThread, &graph), "cudaStreamEndCapture");
  return std::make_unique<Graph>(graph);
}

}  // namespace ringlet::kernels::cuda
