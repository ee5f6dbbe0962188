#include "collectives/transports/thread_mailbox.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "collectives/algorithms/direct.h"
#include "collectives/error.h"
#include "collectives/transports/group_members.h"
#include "collectives/transports/mailbox_exchange.h"

namespace ringlet {
namespace {

using Lock = MailboxSeat::Lock;
using Seat = MailboxSeat;

class ThreadMailbox final : public PointToPoint {
 public:
  explicit ThreadMailbox(Seat seat) : PointToPoint(seat.rank, static_cast<int>(seat.members.size())), seat_(std::move(seat)) {}

  ~ThreadMailbox() override { leave_group(); }

  std::string_view name() const override { return "mailbox"; }

  // The comparison is made here, in memory: nobody gets data from a rank before that rank has announced the same call.
  void announce(const Fingerprint& call, const SiteText& site) override {
    Lock lock(seat_.state.mutex);
    MailboxGroup& group = seat_.group();
    seat_.standing() = {Standing::State::InCall, call, site};
    for (int r = 0; r < size(); ++r) {
      const Standing& other = group.standings[static_cast<size_t>(r)];
      const bool left = other.call.operation == Operation::Leave && other.call.sequence <= call.sequence;
      if (seat_.disputed() || left || (other.call.sequence == call.sequence && other.call != call)) {
        seat_.dispute(lock, r == rank() ? -1 : r, "the ranks of this group have disagreed before");
      }
    }
  }
  void conclude() override {
    const Lock lock(seat_.state.mutex);
    seat_.standing().state = Standing::State::Outside;
  }

  void transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    count(out);
    MailboxExchange(seat_, out, in, tag).wait();
  }
  Work start_transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    count(out);
    return Work(std::make_unique<MailboxExchange>(seat_, out, in, tag));
  }

  void give_up(int peer, const std::string& complaint) override {
    Lock lock(seat_.state.mutex);
    seat_.dispute(lock, peer, complaint);
  }

  void look_after_peers() override {
    Lock lock(seat_.state.mutex);
    const std::vector<Standing>& all = seat_.group().standings;
    const auto failed =
        std::find_if(all.begin(), all.end(), [](const Standing& one) { return one.state == Standing::State::Failed; });
    if (failed != all.end()) {
      const auto r = static_cast<int>(failed - all.begin());
      seat_.dispute(lock, r, message("rank {} has left because of an exception", r));
    }
  }

  std::unique_ptr<PointToPoint> split(int color, int key) override {
    std::vector<Ballot> ballots(static_cast<size_t>(size()));
    ballots[static_cast<size_t>(rank())] = {.color = color, .key = key, .context = reserve_contexts(rank() == 0 ? size() : 0)};
    direct_all_gather(*this, std::span<Ballot>(ballots));
    if (color < 0) {
      return nullptr;
    }
    const GroupMembers group(ballots, rank());
    Seat seat{
        .hub = seat_.hub, .state = seat_.state, .context = ballots[0].context + group.index, .members = {}, .rank = group.rank};
    for (const int member : group.members) {
      seat.members.push_back(seat_.hub_rank(member));
    }
    return std::make_unique<ThreadMailbox>(std::move(seat));
  }

 private:
  void leave_group() {
    const Lock lock(seat_.state.mutex);
    MailboxGroup& group = seat_.group();
    group.leave(static_cast<size_t>(rank()), std::uncaught_exceptions() > exceptions_);
    seat_.wake_members();
    if (++group.gone == size()) {
      seat_.state.groups.erase(seat_.context);
    }
  }
  int reserve_contexts(int n) {
    const Lock lock(seat_.state.mutex);
    return std::exchange(seat_.state.next_context, seat_.state.next_context + n);
  }
  Seat seat_;
  int exceptions_ = std::uncaught_exceptions();  // on their way when this was made
};

}  // namespace

MailboxHub::MailboxHub(int ranks, std::chrono::milliseconds deadline) : state_(std::make_unique<State>(ranks, deadline)) {
  check(ranks >= 1, "mailbox: needs at least one rank, got {}", ranks);
}
MailboxHub::~MailboxHub() = default;

std::unique_ptr<PointToPoint> MailboxHub::join(int rank) {
  const int ranks = static_cast<int>(state_->boxes.size());
  check(rank >= 0 && rank < ranks, "mailbox: rank must be in 0 … {}, got {}", ranks - 1, rank);
  Seat seat{.hub = shared_from_this(), .state = *state_, .context = 0, .members = {}, .rank = rank};
  for (int member = 0; member < ranks; ++member) {
    seat.members.push_back(member);
  }
  return std::make_unique<ThreadMailbox>(std::move(seat));
}

void MailboxHub::leave(int rank, const std::string& reason) {
  const Lock lock(state_->mutex);
  state_->box(rank).left = true;
  for (auto& [context, group] : state_->groups) {
    const auto seat = std::find(group.members.begin(), group.members.end(), rank);
    if (seat != group.members.end()) {
      group.leave(static_cast<size_t>(seat - group.members.begin()), !reason.empty());
    }
  }
  if (!reason.empty() && state_->first_failed < 0) {
    state_->first_failed = rank;
    state_->reason = reason;
  }
  for (Mailbox& box : state_->boxes) {
    box.news.notify_all();
  }
}

int MailboxHub::first_failed() const {
  const Lock lock(state_->mutex);
  return state_->first_failed;
}

}  // namespace ringlet
