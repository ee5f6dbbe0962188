#include "collectives/backends/local.h"

#include <cstring>
#include <span>
#include <utility>

#include "collectives/reduce.h"

namespace ringlet {
namespace {

class LocalCommunicator final : public Communicator {
 public:
  explicit LocalCommunicator(std::string group) : Communicator(0, 1, std::move(group)) {}
  std::string_view name() const override { return "local"; }
  std::string_view transport() const override { return "none"; }
  void run(const Call& call) override { run_alone(call); }

 private:
  std::unique_ptr<Communicator> do_split(int color, int) override {
    return color < 0 ? nullptr : make_local(message("{}/{}", group(), color));
  }
};

}  // namespace

void run_alone(const Call& call) {
  if (call.out.count > 0 && call.out.data != call.in.data) {
    std::memcpy(call.out.data, call.in.data, call.in.bytes());
  }
  if (call.op.op == ReduceOp::PreMulSum) {
    dispatch_all(call.out.dtype, [&]<typename T>() {
      begin_reduction(std::span<T>(static_cast<T*>(call.out.data), static_cast<size_t>(call.out.count)), call.op);
    });
  }
}

std::unique_ptr<Communicator> make_local(std::string group) { return std::make_unique<LocalCommunicator>(std::move(group)); }

}  // namespace ringlet
