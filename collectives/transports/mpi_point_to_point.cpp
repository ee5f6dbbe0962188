#include "collectives/transports/mpi_point_to_point.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>
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
//
// Completion is polled, not waited for: a wait needs a deadline, must let another rank have the core, and must hear of the
// first error while other messages are still out. (Open MPI 4.1's MPI_Waitall can spin for ever on a truncated message.)
class Exchange final : public Work::Pending {
 public:
  Exchange(const CommHandle& handle, const MpiOptions& options, std::span<const Outgoing> out, std::span<const Incoming> in,
           int tag)
      : rank_(handle.rank), size_(handle.size), deadline_(options.deadline) {
    requests_.reserve(out.size() + in.size());
    messages_.reserve(out.size() + in.size());
    for (const Incoming& one : in) {
      for_each_piece(one.bytes, options.max_message_bytes, [&](std::span<std::byte> piece) {
        const Message message = add({one.peer, static_cast<int>(piece.size()), true});
        check_mpi(MPI_Irecv(piece.data(), message.bytes, MPI_BYTE, one.peer, tag, handle.comm, &requests_.back()), "MPI_Irecv",
                  rank_, size_, one.peer);
      });
    }
    for (const Outgoing& one : out) {
      for_each_piece(one.bytes, options.max_message_bytes, [&](std::span<const std::byte> piece) {
        const Message message = add({one.peer, static_cast<int>(piece.size()), false});
        check_mpi(MPI_Isend(piece.data(), message.bytes, MPI_BYTE, one.peer, tag, handle.comm, &requests_.back()), "MPI_Isend",
                  rank_, size_, one.peer);
      });
    }
    pending_ = requests_.size();
    finished_.resize(pending_);
    statuses_.resize(pending_);
  }
  ~Exchange() override {  // after an error some may be left; nobody will ask for them again
    for (size_t i = 0; pending_ > 0 && i < requests_.size(); ++i) {
      if (requests_[i] != MPI_REQUEST_NULL) {
        if (messages_[i].incoming) {
          MPI_Cancel(&requests_[i]);
        }
        MPI_Request_free(&requests_[i]);
      }
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool done() override {
    if (pending_ > 0) {
      poll();
    }
    return pending_ == 0;
  }

  void wait() override {
    for (int polls = 0; polls < kEagerPolls; ++polls) {
      if (done()) {
        return;
      }
    }
    const auto limit = std::chrono::steady_clock::now() + deadline_;
    while (!done()) {
      std::this_thread::yield();
      if (std::chrono::steady_clock::now() > limit) {
        give_up();
      }
    }
  }

 private:
  static constexpr int kEagerPolls = 20;  // an answer that is there or about to be

  struct Message {
    int peer;
    int bytes;
    bool incoming;
  };

  template <typename Byte, typename F>
  static void for_each_piece(std::span<Byte> bytes, size_t limit, F&& f) {
    do {  // an empty message is a message
      const std::span<Byte> piece = bytes.first(std::min(limit, bytes.size()));
      f(piece);
      bytes = bytes.subspan(piece.size());
    } while (!bytes.empty());
  }

  Message add(Message message) {
    requests_.push_back(MPI_REQUEST_NULL);
    return messages_.emplace_back(message);
  }

  void poll() {
    int count = 0;
    const int code =
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, finished_.data(), statuses_.data());
    check_mpi(code == MPI_ERR_IN_STATUS ? MPI_SUCCESS : code, "MPI_Testsome", rank_, size_);
    for (int i = 0; i < count; ++i) {
      const Message& message = messages_[static_cast<size_t>(finished_[static_cast<size_t>(i)])];
      MPI_Status& status = statuses_[static_cast<size_t>(i)];
      --pending_;
      check_mpi(code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS, message.incoming ? "MPI_Irecv" : "MPI_Isend", rank_,
                size_, message.peer);
      if (message.incoming) {
        check_size(message, status);
      }
    }
  }

  // A message that is too long is MPI's error; one that is too short is ours to find.
  void check_size(const Message& expected, const MPI_Status& status) const {
    int got = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &got), "MPI_Get_count", rank_, size_, expected.peer);
    if (got != expected.bytes) {
      throw CommError({.rank = rank_, .size = size_, .peer = expected.peer},
                      message("rank {} sent {} bytes where {} were expected; do all ranks pass the same count and dtype?",
                              expected.peer, got, expected.bytes));
    }
  }

  [[noreturn]] void give_up() const {
    const auto late = std::find_if(requests_.begin(), requests_.end(), [](MPI_Request one) { return one != MPI_REQUEST_NULL; });
    const Message& first = messages_[static_cast<size_t>(late - requests_.begin())];
    throw CommError(
        {.rank = rank_, .size = size_, .peer = first.peer},
        message("{} within the deadline of {} ms; {} of {} messages are out",
                first.incoming ? "sent nothing" : "did not take a message", deadline_.count(), pending_, requests_.size()));
  }

  int rank_;
  int size_;
  std::chrono::milliseconds deadline_;
  size_t pending_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<Message> messages_;  // one per request
  std::vector<int> finished_;
  std::vector<MPI_Status> statuses_;
};

class MpiPointToPoint final : public PointToPoint {
 public:
  MpiPointToPoint(std::shared_ptr<MpiSession> session, CommHandle handle, MpiOptions options)
      : PointToPoint(handle.rank, handle.size), session_(std::move(session)), handle_(std::move(handle)), options_(options) {}

  std::string_view name() const override { return "messages"; }

  void transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    Exchange(handle_, options_, out, in, tag).wait();
  }
  Work start_transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    return Work(std::make_unique<Exchange>(handle_, options_, out, in, tag));
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
