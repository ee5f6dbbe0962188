// What ranks tell each other besides data: that one has left a group, failed, or cannot complete a call. On a communicator of
// its own, next to every message of a world and its parts, because a rank that waits for data must hear of these at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "collectives/standing.h"
#include "collectives/transports/mpi_comm.h"

namespace ringlet {

/// Travels as plain bytes.
struct Notice {
  enum class Kind : uint8_t {
    None,
    Dispute,  // waits in `call` and cannot complete it, or has heard of one who cannot
    Message,  // the same of a message, after `call`
    Left,     // has destroyed its communicator of the group `call.group`
    Failed,   // the same, because of an exception
    Bye,      // has destroyed its last communicator; its last notice
  };
  uint64_t world = 0;
  Kind kind = Kind::None;
  Fingerprint call{};
  SiteText site{};
};

class MpiControl {
 public:
  /// Collective over all ranks of the job.
  explicit MpiControl(std::chrono::milliseconds deadline);
  /// Waits, up to the deadline, until everybody has said Bye: a rank is not gone while others might still tell it something.
  ~MpiControl();
  MpiControl(const MpiControl&) = delete;
  MpiControl& operator=(const MpiControl&) = delete;

  const MpiComm& comm() const { return comm_; }

  /// Groups of which this rank has a communicator; notices about others are dropped.
  void enter(uint64_t group);
  void exit(uint64_t group);

  void tell(Notice::Kind kind, const Fingerprint& call, const SiteText& site);
  /// Takes in what has arrived. Costs one MPI_Test when nothing has.
  void poll();

  /// Whether this rank's call number `sequence` of `group` cannot be completed, as somebody has failed or cannot complete a call.
  /// (In the same group, calls before that one can be completed still.)
  bool disputed(uint64_t group, uint64_t sequence) const;
  bool disputed() const { return disputed_ || failed_; }
  /// What `rank` has said about `group`: its departure, its dispute, or nothing.
  Notice heard(int rank, uint64_t group) const;
  /// A rank that left `group` before the call number `sequence`, -1 if none did.
  int left_before(uint64_t group, uint64_t sequence) const;
  /// The process of `rank`, 0 where this one could not tell whether it lives.
  int process_of(int rank) const { return processes_[static_cast<size_t>(rank)]; }

 private:
  struct Inbox;

  void post();
  void learn_processes();
  void take(int source, const Notice& notice);
  void release_sent();

  MpiComm comm_;
  std::chrono::milliseconds deadline_;
  int exceptions_;
  std::vector<int> processes_;  // by rank of the world
  uint64_t world_ = 0;          // so that nothing of an earlier world is taken for this one's
  std::unique_ptr<Inbox> inbox_;
  std::unordered_map<uint64_t, std::vector<Notice>> departures_;  // by group, then rank of the world
  std::vector<Notice> disputes_;                                  // by rank of the world
  int byes_ = 0;
  bool disputed_ = false;
  bool failed_ = false;
};

}  // namespace ringlet
