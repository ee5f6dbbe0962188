#include "collectives/transports/mpi_exchange.h"

#include <mpi.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/transports/mpi_errors.h"

namespace ringlet {
namespace {

constexpr int kEagerPolls = 20;    // an answer that is there or about to be
constexpr int kPollsPerWatch = 8;  // watching costs as much as polling
// Bytes from which a wait for another host is slept through, in naps of a 16th of the wait so far: so much longer it is at most. In
// the longest nap 62 KB arrive at 1 Gbit/s, which the kernel's buffers hold.
constexpr size_t kLong = size_t{64} << 10;
constexpr int kNapsPerWait = 16;
constexpr std::chrono::microseconds kShortestNap(50), kLongestNap(500);

template <typename Byte, typename F>
void for_each_piece(std::span<Byte> bytes, size_t limit, F&& f) {
  do {  // an empty message is a message
    const std::span<Byte> piece = bytes.first(std::min(limit, bytes.size()));
    f(piece);
    bytes = bytes.subspan(piece.size());
  } while (!bytes.empty());
}

}  // namespace

struct MpiExchange::Requests {
  std::vector<MPI_Request> all;
  std::vector<int> finished;
  std::vector<MPI_Status> statuses;
};

MpiExchange::MpiExchange(const MpiComm& comm, const MpiOptions& options, std::span<const Outgoing> out,
                         std::span<const Incoming> in, int tag, Watch watch)
    : comm_(comm), options_(options), tag_(tag), watch_(std::move(watch)), requests_(std::make_unique<Requests>()) {
  messages_.reserve(out.size() + in.size());
  requests_->all.reserve(out.size() + in.size());
  for (const Incoming& one : in) {
    for_each_piece(one.bytes, options_.max_message_bytes, [&](std::span<std::byte> piece) { post_receive(one.peer, piece); });
  }
  for (const Outgoing& one : out) {
    for_each_piece(one.bytes, options_.max_message_bytes,
                   [&](std::span<const std::byte> piece) { post_send(one.peer, piece); });
  }
}

MpiExchange::~MpiExchange() {  // after an error some may be left; nobody will ask for them again
  for (size_t i = 0; pending_ > 0 && i < messages_.size(); ++i) {
    if (MPI_Request& request = requests_->all[i]; request != MPI_REQUEST_NULL) {
      if (messages_[i].incoming) {
        MPI_Cancel(&request);
      }
      MPI_Request_free(&request);
    }
  }
}

void MpiExchange::post_send(int peer, std::span<const std::byte> bytes) {
  messages_.push_back({.peer = peer, .bytes = static_cast<int>(bytes.size()), .incoming = false});
  bytes_ += bytes.size();
  check_mpi(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, tag_, MPI_Comm_f2c(comm_.handle()),
                      &requests_->all.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Isend", comm_.rank(), comm_.size(), peer);
  ++pending_;
}

void MpiExchange::post_receive(int peer, std::span<std::byte> bytes) {
  messages_.push_back({.peer = peer, .bytes = static_cast<int>(bytes.size()), .incoming = true});
  bytes_ += bytes.size();
  check_mpi(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, tag_, MPI_Comm_f2c(comm_.handle()),
                      &requests_->all.emplace_back(MPI_REQUEST_NULL)),
            "MPI_Irecv", comm_.rank(), comm_.size(), peer);
  ++pending_;
}

bool MpiExchange::done() {
  if (pending_ > 0) {
    poll();
  }
  return pending_ == 0;
}

void MpiExchange::wait() {
  for (int polls = 0; polls < kEagerPolls; ++polls) {
    if (done()) {
      return;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  bool asleep = false;
  for (int polls = 0; !done(); ++polls) {
    const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - start;
    if (waited > options_.deadline) {
      give_up();
    }
    if (polls % kPollsPerWatch == 0) {
      asleep = watch_(first_late().peer) && bytes_ >= kLong;
    }
    if (asleep) {
      std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(waited / kNapsPerWait, kShortestNap, kLongestNap));
    } else {
      std::this_thread::yield();
    }
  }
}

void MpiExchange::poll() {
  int count = 0;
  const size_t posted = messages_.size();
  requests_->finished.resize(posted);
  requests_->statuses.resize(posted);
  const int code = MPI_Testsome(static_cast<int>(posted), requests_->all.data(), &count, requests_->finished.data(),
                                requests_->statuses.data());
  check_mpi(code == MPI_ERR_IN_STATUS ? MPI_SUCCESS : code, "MPI_Testsome", comm_.rank(), comm_.size());
  for (int i = 0; i < count; ++i) {
    const Message& message = messages_[static_cast<size_t>(requests_->finished[static_cast<size_t>(i)])];
    const MPI_Status& status = requests_->statuses[static_cast<size_t>(i)];
    --pending_;
    check_mpi(code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS, message.incoming ? "MPI_Irecv" : "MPI_Isend",
              comm_.rank(), comm_.size(), message.peer);
    if (message.incoming) {
      int got = 0;
      check_mpi(MPI_Get_count(&status, MPI_BYTE, &got), "MPI_Get_count", comm_.rank(), comm_.size(), message.peer);
      if (got != message.bytes) {  // one that is too long is MPI's error
        refuse(message, got);
      }
    }
  }
}

void MpiExchange::refuse(const Message& message, int got) const {
  throw CommError({.rank = comm_.rank(), .size = comm_.size(), .peer = message.peer},
                  ringlet::message("rank {} sent {} bytes where {} were expected; do all ranks pass the same count and dtype?",
                                   message.peer, got, message.bytes));
}

const MpiExchange::Message& MpiExchange::first_late() const {
  const auto& all = requests_->all;
  const auto late = std::find_if(all.begin(), all.end(), [](MPI_Request one) { return one != MPI_REQUEST_NULL; });
  return messages_[static_cast<size_t>(late - all.begin())];
}

void MpiExchange::give_up() const {
  const Message& first = first_late();
  throw CommError({.rank = comm_.rank(), .size = comm_.size(), .peer = first.peer},
                  message("{} within the deadline of {} ms; {} of {} messages are out",
                          first.incoming ? "sent nothing" : "did not take a message", options_.deadline.count(), pending_,
                          messages_.size()));
}

}  // namespace ringlet
