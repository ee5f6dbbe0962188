#include "collectives/transports/mpi_control.h"

#include <mpi.h>

#include <algorithm>
#include <exception>
#include <random>
#include <thread>

#include "collectives/transports/mpi_errors.h"
#include "collectives/transports/process.h"

namespace ringlet {

// The one receive that is always posted, and what has been sent and not yet left.
struct MpiControl::Inbox {
  struct Sent {
    Notice notice;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  Notice incoming{};
  MPI_Request request = MPI_REQUEST_NULL;
  std::list<Sent> sent{};  // a list: the addresses must not change
};

MpiControl::MpiControl(std::chrono::milliseconds deadline)
    : comm_(MpiComm::world()),
      deadline_(deadline),
      exceptions_(std::uncaught_exceptions()),
      inbox_(std::make_unique<Inbox>()),
      disputes_(static_cast<size_t>(comm_.size())) {
  if (comm_.rank() == 0) {
    std::random_device random;
    world_ = (static_cast<uint64_t>(random()) << 32) | random();
  }
  check_mpi(MPI_Bcast(&world_, sizeof world_, MPI_BYTE, 0, MPI_Comm_f2c(comm_.handle())), "MPI_Bcast");
  learn_processes();
  if (comm_.size() > 1) {
    post();
  }
}

MpiControl::~MpiControl() {
  int finished = 0;
  MPI_Finalized(&finished);
  if (finished != 0 || comm_.size() == 1) {
    return;
  }
  const bool failing = std::uncaught_exceptions() > exceptions_;
  try {
    tell(Notice::Kind::Bye, {}, {});
    const auto started = std::chrono::steady_clock::now();
    const auto waited = [&] { return std::chrono::steady_clock::now() - started; };
    // After a dispute the others may be gone by other ways.
    while (!failing && byes_ < comm_.size() - 1 && waited() < (disputed() ? std::chrono::milliseconds(500) : deadline_)) {
      poll();
      std::this_thread::yield();
    }
  } catch (const CommError&) {  // NOLINT(bugprone-empty-catch): a destructor cannot report
  }
  if (byes_ < comm_.size() - 1) {
    comm_.abandon();
  }
  if (inbox_->request != MPI_REQUEST_NULL) {
    MPI_Cancel(&inbox_->request);
    MPI_Wait(&inbox_->request, MPI_STATUS_IGNORE);
  }
  for (Inbox::Sent& one : inbox_->sent) {
    if (one.request != MPI_REQUEST_NULL) {
      MPI_Request_free(&one.request);
    }
  }
}

void MpiControl::learn_processes() {
  struct Place {
    uint64_t space;
    int64_t process;
  };
  std::vector<Place> all(static_cast<size_t>(comm_.size()));
  const Place mine{process_space(), this_process()};
  check_mpi(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_Comm_f2c(comm_.handle())),
            "MPI_Allgather");
  for (const Place& one : all) {
    processes_.push_back(one.space == mine.space ? static_cast<int>(one.process) : 0);
  }
}

void MpiControl::post() {
  check_mpi(
      MPI_Irecv(&inbox_->incoming, sizeof(Notice), MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_Comm_f2c(comm_.handle()), &inbox_->request),
      "MPI_Irecv");
}

void MpiControl::enter(uint64_t group) { departures_[group].resize(static_cast<size_t>(comm_.size())); }
void MpiControl::exit(uint64_t group) { departures_.erase(group); }

void MpiControl::tell(Notice::Kind kind, const Fingerprint& call, const SiteText& site) {
  release_sent();
  for (int peer = 0; peer < comm_.size(); ++peer) {
    if (peer != comm_.rank()) {
      Inbox::Sent& one = inbox_->sent.emplace_back(Inbox::Sent{.notice = {world_, kind, call, site}});
      check_mpi(MPI_Isend(&one.notice, sizeof(Notice), MPI_BYTE, peer, 0, MPI_Comm_f2c(comm_.handle()), &one.request),
                "MPI_Isend", comm_.rank(), comm_.size(), peer);
    }
  }
}

void MpiControl::release_sent() {
  inbox_->sent.remove_if([](Inbox::Sent& one) {
    int done = 0;
    return MPI_Test(&one.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
  });
}

void MpiControl::poll() {
  while (inbox_->request != MPI_REQUEST_NULL) {
    int done = 0;
    MPI_Status status;
    check_mpi(MPI_Test(&inbox_->request, &done, &status), "MPI_Test", comm_.rank(), comm_.size());
    if (done == 0) {
      return;
    }
    take(status.MPI_SOURCE, inbox_->incoming);
    post();
  }
}

void MpiControl::take(int source, const Notice& notice) {
  if (notice.world != world_) {
    return;
  }
  if (notice.kind == Notice::Kind::Dispute || notice.kind == Notice::Kind::Message) {
    disputes_[static_cast<size_t>(source)] = notice;
    disputed_ = true;
  } else if (notice.kind == Notice::Kind::Bye) {
    ++byes_;
  } else {
    if (const auto group = departures_.find(notice.call.group); group != departures_.end()) {
      group->second[static_cast<size_t>(source)] = notice;
    }
    failed_ |= notice.kind == Notice::Kind::Failed;
  }
}

bool MpiControl::disputed(uint64_t group, uint64_t sequence) const {
  const auto hinders = [&](const Notice& one) {
    return (one.kind == Notice::Kind::Dispute && (one.call.group != group || one.call.sequence <= sequence)) ||
           (one.kind == Notice::Kind::Message && (one.call.group != group || one.call.sequence < sequence));
  };
  return failed_ || (disputed_ && std::any_of(disputes_.begin(), disputes_.end(), hinders));
}

Notice MpiControl::heard(int rank, uint64_t group) const {
  const Notice& dispute = disputes_[static_cast<size_t>(rank)];
  if (dispute.kind != Notice::Kind::None) {
    return dispute;
  }
  const auto found = departures_.find(group);
  return found == departures_.end() ? Notice{} : found->second[static_cast<size_t>(rank)];
}

int MpiControl::left_before(uint64_t group, uint64_t sequence) const {
  const auto found = departures_.find(group);
  for (size_t r = 0; found != departures_.end() && r < found->second.size(); ++r) {
    const Notice& one = found->second[r];
    if (one.kind != Notice::Kind::None && one.call.sequence <= sequence) {
      return static_cast<int>(r);
    }
  }
  return -1;
}

}  // namespace ringlet
