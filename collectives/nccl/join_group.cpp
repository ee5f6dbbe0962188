#include "collectives/nccl/join_group.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstring>
#include <thread>
#include <utility>

#include "collectives/nccl/nccl_errors.h"
#include "collectives/nccl/reduce_in_order.h"

namespace ringlet {
namespace {

constexpr std::chrono::microseconds kLook(20);  // between looks at something that is under way
constexpr int kLooksAfterAbort = 50000;         // a second

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return ncclFloat32;
    case DType::F64: return ncclFloat64;
    case DType::BF16: return ncclBfloat16;
    case DType::I32: return ncclInt32;
    case DType::I64: return ncclInt64;
    case DType::U8: return ncclUint8;
  }
  return ncclUint8;
}

// An operation of NCCL for the length of a call; a scaled sum is made for it.
class Operator {
 public:
  Operator(ncclComm_t comm, Reduction op, DType dtype) : comm_(comm), made_(op.op == ReduceOp::PreMulSum) {
    switch (op.op) {
      case ReduceOp::Sum: op_ = ncclSum; return;
      case ReduceOp::Avg: op_ = ncclAvg; return;
      case ReduceOp::Min: op_ = ncclMin; return;
      case ReduceOp::Max: op_ = ncclMax; return;
      case ReduceOp::Prod: op_ = ncclProd; return;
      case ReduceOp::PreMulSum: break;
    }
    double wide = op.factor;
    bf16 narrow(op.factor);
    void* factor = dtype == DType::F64    ? static_cast<void*>(&wide)
                   : dtype == DType::BF16 ? &narrow
                                          : static_cast<void*>(&op.factor);
    check_nccl(ncclRedOpCreatePreMulSum(&op_, factor, type_of(dtype), ncclScalarHostImmediate, comm_),
               "ncclRedOpCreatePreMulSum");
  }
  ~Operator() {
    if (made_) {
      ncclRedOpDestroy(op_, comm_);
    }
  }
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  operator ncclRedOp_t() const { return op_; }  // NOLINT(google-explicit-constructor): it is one

 private:
  ncclComm_t comm_;
  ncclRedOp_t op_ = ncclSum;
  bool made_;
};

class EventPoint final : public NcclGroup::Point {
 public:
  explicit EventPoint(cudaStream_t stream) {
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check_cuda(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  ~EventPoint() override { cudaEventDestroy(event_); }
  EventPoint(const EventPoint&) = delete;
  EventPoint& operator=(const EventPoint&) = delete;

  bool reached() override {
    const cudaError_t state = cudaEventQuery(event_);
    return state == cudaErrorNotReady ? false : (check_cuda(state, "cudaEventQuery"), true);
  }
  void hold_caller() override { hold(cudaStreamPerThread); }
  void hold(cudaStream_t stream) { check_cuda(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent"); }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  Stream() {
    int least = 0, greatest = 0;  // communication first: others wait for it, and it needs few multiprocessors
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor): it is one

 private:
  cudaStream_t stream_ = nullptr;
};

// One rank has nothing to say to NCCL: it needs the stream alone.
class Group final : public NcclGroup {
 public:
  Group(const NcclId& id, int rank, int size, NcclWatch watch, std::shared_ptr<Stream> stream)
      : watch_(std::move(watch)), shared_stream_(std::move(stream)), stream_(*shared_stream_) {
    if (size == 1) {
      return;
    }
    ncclUniqueId unique;
    static_assert(sizeof(unique) == sizeof(id));
    std::memcpy(&unique, id.bytes.data(), sizeof(unique));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    try {
      settle(ncclCommInitRankConfig(&comm_, size, unique, rank, &config), "ncclCommInitRankConfig");
    } catch (...) {
      abort();
      throw;
    }
  }
  ~Group() override {
    try {
      if (comm_ != nullptr) {
        synchronize();
        settle(ncclCommFinalize(comm_), "ncclCommFinalize");
        ncclCommDestroy(std::exchange(comm_, nullptr));
      }
    } catch (...) {
      abort();
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const std::shared_ptr<Stream>& stream() const { return shared_stream_; }

  void follow_caller() override { EventPoint(cudaStreamPerThread).hold(stream_); }
  std::shared_ptr<Point> point() override { return std::make_shared<EventPoint>(stream_); }

  void copy(const void* from, void* to, size_t bytes) override {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
  }
  void broadcast(void* data, size_t bytes, int root) override {
    settle(ncclBroadcast(data, data, bytes, ncclUint8, root, comm_, stream_), "ncclBroadcast");
  }
  void all_gather(const void* shard, void* full, size_t shard_bytes) override {
    settle(ncclAllGather(shard, full, shard_bytes, ncclUint8, comm_, stream_), "ncclAllGather");
  }
  void all_reduce(const void* in, void* out, int64_t n, DType dtype, Reduction op) override {
    const Operator what(comm_, op, dtype);
    settle(ncclAllReduce(in, out, static_cast<size_t>(n), type_of(dtype), what, comm_, stream_), "ncclAllReduce");
  }
  void reduce(const void* in, void* out, int64_t n, DType dtype, Reduction op, int root) override {
    const Operator what(comm_, op, dtype);
    settle(ncclReduce(in, out, static_cast<size_t>(n), type_of(dtype), what, root, comm_, stream_), "ncclReduce");
  }
  void reduce_scatter(const void* full, void* shard, int64_t n, DType dtype, Reduction op) override {
    const Operator what(comm_, op, dtype);
    settle(ncclReduceScatter(full, shard, static_cast<size_t>(n), type_of(dtype), what, comm_, stream_), "ncclReduceScatter");
  }
  void open() override { check_nccl(ncclGroupStart(), "ncclGroupStart"); }
  // What is wrong with a message is told by `close`: a group that was opened has to be closed first.
  void send(const void* data, size_t bytes, int peer) override {
    remember(ncclSend(data, bytes, ncclUint8, peer, comm_, stream_));
  }
  void recv(void* data, size_t bytes, int peer) override { remember(ncclRecv(data, bytes, ncclUint8, peer, comm_, stream_)); }
  void close() override {
    const ncclResult_t end = ncclGroupEnd();
    check_nccl(std::exchange(message_fault_, ncclSuccess), "ncclSend or ncclRecv");
    settle(end, "ncclGroupEnd");
  }
  void reduce_in_order(const NcclInputs& inputs, void* out, int64_t n, DType dtype, Reduction op) override {
    queue_reduce_in_order(stream_, inputs, out, n, dtype, op);
  }

  std::string trouble() override {
    ncclResult_t state = ncclSuccess;
    if (comm_ == nullptr ||
        (ncclCommGetAsyncError(comm_, &state) == ncclSuccess && (state == ncclSuccess || state == ncclInProgress))) {
      return "";
    }
    return std::string("NCCL: ") + ncclGetErrorString(state) + "; " + ncclGetLastError(comm_);
  }
  void synchronize() override {
    wait([&] {
      const cudaError_t state = cudaStreamQuery(stream_);
      return state == cudaErrorNotReady ? false : (check_cuda(state, "cudaStreamQuery"), true);
    });
  }
  // The stream may still wait for the caller's, which may wait for another group that is to be aborted yet: not for long.
  void abort() noexcept override {
    if (comm_ != nullptr) {
      ncclCommAbort(std::exchange(comm_, nullptr));
      for (int look = 0; look < kLooksAfterAbort && cudaStreamQuery(stream_) == cudaErrorNotReady; ++look) {
        std::this_thread::sleep_for(kLook);
      }
    }
  }

 private:
  void remember(ncclResult_t result) {
    if (message_fault_ == ncclSuccess && result != ncclInProgress) {
      message_fault_ = result;
    }
  }
  // Nothing is on the stream, and nothing else may be asked of the communicator, before the call is no longer in progress.
  void settle(ncclResult_t result, const char* who) {
    if (result == ncclInProgress) {
      wait([&] {
        check_nccl(ncclCommGetAsyncError(comm_, &result), "ncclCommGetAsyncError");
        return result != ncclInProgress;
      });
    }
    check_nccl(result, who);
  }
  template <typename Done>
  void wait(Done done) {
    const auto begin = std::chrono::steady_clock::now();
    for (int look = 0; !done(); ++look) {
      watch_(std::chrono::steady_clock::now() - begin);
      look < 100 ? std::this_thread::yield() : std::this_thread::sleep_for(kLook);
    }
  }

  NcclWatch watch_;
  std::shared_ptr<Stream> shared_stream_;
  cudaStream_t stream_;
  ncclComm_t comm_ = nullptr;
  ncclResult_t message_fault_ = ncclSuccess;  // the first since `open`
};

}  // namespace

std::unique_ptr<NcclGroup> join_group(const NcclId& id, int rank, int size, NcclWatch watch, const NcclGroup* whole) {
  std::shared_ptr<Stream> stream =
      whole == nullptr ? std::make_shared<Stream>() : static_cast<const Group*>(whole)->stream();  // all are of this library
  return std::make_unique<Group>(id, rank, size, std::move(watch), std::move(stream));
}

}  // namespace ringlet
