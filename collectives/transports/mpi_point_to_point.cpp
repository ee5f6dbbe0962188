#include "collectives/transports/mpi_point_to_point.h"

#include <mpi.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/transports/mpi_errors.h"
#include "collectives/transports/mpi_session.h"

namespace ringlet {
namespace {

// Owns a communicator; freed unless MPI has finished already.
struct CommHandle {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;

  explicit CommHandle(MPI_Comm owned) : comm(owned) {
    check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  }
  CommHandle(CommHandle&& other) noexcept
      : comm(std::exchange(other.comm, MPI_COMM_NULL)), rank(other.rank), size(other.size) {}
  CommHandle& operator=(CommHandle&&) = delete;
  ~CommHandle() {
    int finished = 0;
    MPI_Finalized(&finished);
    if (finished == 0 && comm != MPI_COMM_NULL) {
      MPI_Comm_free(&comm);
    }
  }
};

// Messages under way. All receives are posted before the first send, so that what arrives has a place to go.
class Exchange final : public Work::Pending {
 public:
  Exchange(const CommHandle& handle, size_t limit, std::span<const Outgoing> out, std::span<const Incoming> in, int tag)
      : rank_(handle.rank), size_(handle.size) {
    requests_.reserve(out.size() + in.size());
    receives_.reserve(in.size());
    for (const Incoming& one : in) {
      for_each_piece(one.bytes, limit, [&](std::span<std::byte> piece) {
        receives_.push_back({one.peer, static_cast<int>(piece.size())});
        check_mpi(MPI_Irecv(piece.data(), receives_.back().bytes, MPI_BYTE, one.peer, tag, handle.comm, next_request()),
                  "MPI_Irecv", rank_, size_, one.peer);
      });
    }
    for (const Outgoing& one : out) {
      for_each_piece(one.bytes, limit, [&](std::span<const std::byte> piece) {
        check_mpi(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, one.peer, tag, handle.comm, next_request()),
                  "MPI_Isend", rank_, size_, one.peer);
      });
    }
    statuses_.resize(requests_.size());
  }

  void wait() override {
    conclude(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), statuses_.data()), "MPI_Waitall");
  }
  bool done() override {
    if (!concluded_) {
      int all = 0;
      const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &all, statuses_.data());
      if (code != MPI_SUCCESS || all != 0) {
        conclude(code, "MPI_Testall");
      }
    }
    return concluded_;
  }

 private:
  template <typename Byte, typename F>
  static void for_each_piece(std::span<Byte> bytes, size_t limit, F&& f) {
    do {  // an empty message is a message
      const std::span<Byte> piece = bytes.first(std::min(limit, bytes.size()));
      f(piece);
      bytes = bytes.subspan(piece.size());
    } while (!bytes.empty());
  }
  MPI_Request* next_request() { return &requests_.emplace_back(MPI_REQUEST_NULL); }

  // The statuses of receives come first. A message that is too long is MPI's error; one that is too short is ours to find.
  void conclude(int code, const char* function) {
    if (std::exchange(concluded_, true)) {
      return;
    }
    for (size_t i = 0; i < receives_.size() && (code == MPI_SUCCESS || code == MPI_ERR_IN_STATUS); ++i) {
      const auto [peer, expected] = receives_[i];
      int error = MPI_SUCCESS;
      if (code == MPI_ERR_IN_STATUS && statuses_[i].MPI_ERROR != MPI_ERR_PENDING) {
        error = statuses_[i].MPI_ERROR;
      }
      int got = 0;
      check_mpi(error, "MPI_Irecv", rank_, size_, peer);
      check_mpi(MPI_Get_count(&statuses_[i], MPI_BYTE, &got), "MPI_Get_count", rank_, size_, peer);
      if (got != expected && code == MPI_SUCCESS) {
        throw CommError({.rank = rank_, .size = size_, .peer = peer},
                        message("rank {} sent {} bytes where {} were expected; do all ranks pass the same count and dtype?",
                                peer, got, expected));
      }
    }
    check_mpi(code, function, rank_, size_);
  }

  struct Expected {
    int peer;
    int bytes;
  };
  int rank_;
  int size_;
  bool concluded_ = false;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<Expected> receives_;
};

class MpiPointToPoint final : public PointToPoint {
 public:
  MpiPointToPoint(std::shared_ptr<MpiSession> session, CommHandle handle, MpiOptions options)
      : PointToPoint(handle.rank, handle.size), session_(std::move(session)), handle_(std::move(handle)), options_(options) {}

  std::string_view name() const override { return "messages"; }

  void transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    Exchange(handle_, options_.max_message_bytes, out, in, tag).wait();
  }
  Work start_transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    return Work(std::make_unique<Exchange>(handle_, options_.max_message_bytes, out, in, tag));
  }
  std::unique_ptr<PointToPoint> split(int color, int key) override {
    MPI_Comm part = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(handle_.comm, color < 0 ? MPI_UNDEFINED : color, key, &part), "MPI_Comm_split", rank(), size());
    return part == MPI_COMM_NULL ? nullptr : std::make_unique<MpiPointToPoint>(session_, CommHandle(part), options_);
  }

 private:
  std::shared_ptr<MpiSession> session_;  // before the handle: freed after it
  CommHandle handle_;
  MpiOptions options_;
};

}  // namespace

std::unique_ptr<PointToPoint> make_mpi_point_to_point(MpiOptions options) {
  check(options.max_message_bytes > 0 && options.max_message_bytes < (size_t{1} << 31),
        "mpi: max_message_bytes must be in 1 … 2^31 − 1, got {}", options.max_message_bytes);
  auto session = std::make_shared<MpiSession>();
  MPI_Comm world = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world), "MPI_Comm_dup");
  return std::make_unique<MpiPointToPoint>(std::move(session), CommHandle(world), options);
}

}  // namespace ringlet
