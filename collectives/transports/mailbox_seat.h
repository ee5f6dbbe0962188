// What the ranks of a MailboxHub share, and one rank's seat in one group of it. Internal to thread_mailbox.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "collectives/standing.h"
#include "collectives/transports/mailbox.h"
#include "collectives/transports/thread_mailbox.h"

namespace ringlet {

/// Who stands where in one group, by group rank.
struct MailboxGroup {
  std::vector<int> members{};  // hub ranks
  std::vector<Standing> standings{};
  uint64_t disputed = UINT64_MAX;  // the first call that cannot be completed; nor can any after it
  int gone = 0;

  /// The end is a call like any other. In a dispute what the rank was doing is worth more than that it gave up.
  void leave(size_t rank, bool failed) {
    Standing& mine = standings[rank];
    const bool disputing = mine.state == Standing::State::InCall && mine.call.sequence >= disputed;
    if (mine.call.operation != Operation::Leave && !disputing) {
      mine = {failed ? Standing::State::Failed : Standing::State::Left, leaving_after(mine.call.sequence, mine.call.group),
              mine.site};
    }
    for (const Standing& other : standings) {
      if (other.state == Standing::State::InCall && other.call.sequence >= mine.call.sequence) {
        disputed = std::min(disputed, mine.call.sequence);
      }
    }
  }
};

// One mutex for all: it is held for a few list operations, never while bytes are copied.
struct MailboxHub::State {
  State(int ranks, std::chrono::milliseconds limit) : deadline(limit), boxes(static_cast<size_t>(ranks)) {}
  Mailbox& box(int rank) { return boxes[static_cast<size_t>(rank)]; }
  MailboxGroup& group(int context, const std::vector<int>& members) {
    MailboxGroup& one = groups[context];
    if (one.members.empty()) {
      one.members = members;
      one.standings.resize(members.size());
    }
    return one;
  }

  std::mutex mutex{};
  std::chrono::milliseconds deadline;
  std::vector<Mailbox> boxes;
  std::unordered_map<int, MailboxGroup> groups{};  // by context, from the first join to the last leave
  int next_context = 1;                            // 0 is the world
  int first_failed = -1;
  std::string reason{};
};

struct MailboxSeat {
  using Lock = std::unique_lock<std::mutex>;
  static constexpr std::chrono::seconds kTimeToAnswer{1};

  std::shared_ptr<MailboxHub> hub;
  MailboxHub::State& state;
  int context;
  std::vector<int> members;  // hub ranks, by group rank
  int rank;                  // in the group

  int self() const { return hub_rank(rank); }
  int hub_rank(int member) const { return members[static_cast<size_t>(member)]; }
  int member(int hub_rank) const {
    const auto found = std::find(members.begin(), members.end(), hub_rank);
    return found == members.end() ? -1 : static_cast<int>(found - members.begin());
  }
  MailboxGroup& group() const { return state.group(context, members); }
  bool disputed() const { return standing().call.sequence >= group().disputed; }
  Standing& standing() const { return group().standings[static_cast<size_t>(rank)]; }
  void wake_members() const {
    for (const int one : members) {
      state.box(one).news.notify_all();
    }
  }

  /// Ends the group: wakes everybody in it, gives them a moment to say where they stand, and throws what that comes to.
  [[noreturn]] void dispute(Lock& lock, int peer, std::string complaint) const {
    MailboxGroup& ours = group();
    const uint64_t mine = standing().call.sequence;
    ours.disputed = std::min(ours.disputed, mine);
    wake_members();
    const auto all_have_spoken = [&] {
      for (size_t r = 0; r < members.size(); ++r) {
        const Standing& one = ours.standings[r];
        const bool spoken = one.call.sequence >= mine && one.state != Standing::State::Failed;  // why it failed comes last
        if (!spoken && !state.box(members[r]).left) {
          return false;
        }
      }
      return true;
    };
    state.box(self()).news.wait_for(lock, kTimeToAnswer, all_have_spoken);
    const int failed = state.first_failed < 0 ? -1 : member(state.first_failed);
    if (failed >= 0 && ours.standings[static_cast<size_t>(failed)].state == Standing::State::Failed) {
      peer = failed;
      complaint = message("world rank {} failed: {}", state.first_failed, state.reason);
    }
    throw disagreement(rank, peer, complaint, ours.standings);
  }
};

}  // namespace ringlet
