#include "apps/bench/peers/gloo_peer.h"

#ifdef RINGLET_GLOO
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#endif

namespace ringlet {

#ifdef RINGLET_GLOO
namespace {

void sum(void* out, const void* a, const void* b, size_t n) { gloo::sum<float>(out, a, b, n); }

class TcpPeer final : public GlooPeer {
 public:
  TcpPeer(int rank, int size, const std::string& folder) : context_(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    gloo::transport::tcp::attr address;
    address.hostname = "localhost";
    gloo::rendezvous::FileStore store(folder);
    auto device = gloo::transport::tcp::CreateDevice(address);
    context_->connectFullMesh(store, device);
  }

  void all_reduce(float* in, float* out, size_t n) override {
    gloo::AllreduceOptions options(context_);
    options.setInput(in, n);
    options.setOutput(out, n);
    options.setReduceFunction(sum);
    gloo::allreduce(options);
  }
  void all_gather(float* shard, float* full, size_t n_shard) override {
    gloo::AllgatherOptions options(context_);
    options.setInput(shard, n_shard);
    options.setOutput(full, n_shard * static_cast<size_t>(context_->size));
    gloo::allgather(options);
  }
  void broadcast(float* data, size_t n, int root) override {
    gloo::BroadcastOptions options(context_);
    options.setOutput(data, n);
    options.setRoot(root);
    gloo::broadcast(options);
  }
  void reduce(float* in, float* out, size_t n, int root) override {
    gloo::ReduceOptions options(context_);
    options.setInput(in, n);
    options.setOutput(out, n);
    options.setRoot(root);
    options.setReduceFunction(sum);
    gloo::reduce(options);
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
};

}  // namespace

std::unique_ptr<GlooPeer> GlooPeer::join(int rank, int size, const std::string& folder) {
  return std::make_unique<TcpPeer>(rank, size, folder);
}
#else
std::unique_ptr<GlooPeer> GlooPeer::join(int, int, const std::string&) { return nullptr; }
#endif

}  // namespace ringlet
