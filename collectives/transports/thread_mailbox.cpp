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
#include "collectives/transports/mailbox_seat.h"

namespace ringlet {
namespace {

using Lock = MailboxSeat::Lock;
using Seat = MailboxSeat;

// Sends and receives under way: posted at construction, finished by `wait`, retracted by the destructor if that threw.
class Exchange final : public Work::Pending {
 public:
  Exchange(const Seat& seat, std::span<const Outgoing> out, std::span<const Incoming> in, int tag) : seat_(seat) {
    letters_.reserve(out.size());
    receives_.reserve(in.size());
    const Lock lock(seat_.state.mutex);
    for (const Incoming& one : in) {
      receives_.push_back({.envelope = {seat_.hub_rank(one.peer), seat_.context, tag}, .bytes = one.bytes});
      seat_.state.box(seat_.self()).post(receives_.back());
    }
    for (const Outgoing& one : out) {
      letters_.push_back(
          {.envelope = {seat_.self(), seat_.context, tag}, .dest = seat_.hub_rank(one.peer), .bytes = one.bytes});
      seat_.state.box(letters_.back().dest).post(letters_.back());
    }
  }
  ~Exchange() override { retract(); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void wait() override {
    Lock lock(seat_.state.mutex);
    for (Receive& receive : receives_) {
      await(lock, receive.envelope.source, "sent nothing", [&] { return receive.letter != nullptr || receive.done; });
      read(lock, receive);
    }
    for (const Letter& letter : letters_) {
      await(lock, letter.dest, "did not take a message",
            [&] { return letter.state == Letter::State::Read || letter.state == Letter::State::Lost; });
      if (letter.state == Letter::State::Lost) {
        seat_.dispute(lock, seat_.member(letter.dest), message("refused a message of {} bytes", letter.bytes.size()));
      }
    }
  }

  bool done() override {
    Lock lock(seat_.state.mutex);
    for (Receive& receive : receives_) {
      if (receive.letter != nullptr) {
        read(lock, receive);
      }
    }
    return std::all_of(receives_.begin(), receives_.end(), [](const Receive& one) { return one.done; }) &&
           std::all_of(letters_.begin(), letters_.end(), [](const Letter& one) { return one.state == Letter::State::Read; });
  }

 private:
  // Sleeps until `ready()`; throws when that cannot be any more, or the deadline passes.
  template <typename Ready>
  void await(Lock& lock, int peer, const char* complaint, Ready ready) {
    MailboxHub::State& state = seat_.state;
    const auto given_up = [&] { return ready() || seat_.disputed() || state.first_failed >= 0 || state.box(peer).left; };
    const auto limit = std::chrono::steady_clock::now() + state.deadline;
    state.box(seat_.self()).news.wait_until(lock, limit, given_up);
    if (ready()) {
      return;
    }
    if (state.first_failed >= 0 && !seat_.disputed()) {
      seat_.dispute(lock, seat_.member(state.first_failed),
                    message("world rank {} failed: {}", state.first_failed, state.reason));
    }
    seat_.dispute(lock, seat_.member(peer),
                  state.box(peer).left  // otherwise the time is up, here or on the rank that began the dispute
                      ? message("world rank {} {} and is gone", peer, complaint)
                      : message("world rank {} {} within the deadline of {} ms", peer, complaint, state.deadline.count()));
  }

  // Copies the letter of `receive`, if it has not been read yet. The lock is released meanwhile.
  void read(Lock& lock, Receive& receive) {
    if (receive.done) {
      return;
    }
    Letter& letter = *receive.letter;
    const bool fits = letter.bytes.size() == receive.bytes.size();
    const size_t sent = letter.bytes.size();
    if (fits && sent > 0) {
      letter.state = Letter::State::Claimed;
      lock.unlock();
      std::memcpy(receive.bytes.data(), letter.bytes.data(), sent);
      lock.lock();
    }
    letter.state = fits ? Letter::State::Read : Letter::State::Lost;
    letter.receive = nullptr;
    receive.letter = nullptr;
    receive.done = true;
    seat_.state.box(receive.envelope.source).news.notify_one();  // the letter may be gone from here on
    if (!fits) {
      seat_.dispute(lock, seat_.member(receive.envelope.source),
                    message("world rank {} sent {} bytes where {} were expected; do all ranks pass the same count and dtype?",
                            receive.envelope.source, sent, receive.bytes.size()));
    }
  }

  void retract() {
    Lock lock(seat_.state.mutex);
    for (Receive& receive : receives_) {
      seat_.state.box(seat_.self()).retract(receive);
      if (receive.letter != nullptr) {
        receive.letter->state = Letter::State::Lost;
        receive.letter->receive = nullptr;
        seat_.state.box(receive.envelope.source).news.notify_one();
      }
    }
    for (Letter& letter : letters_) {
      seat_.state.box(letter.dest).retract(letter);
      // A reader in the middle of the copy will be done in a moment; until then the bytes must stay.
      seat_.state.box(seat_.self()).news.wait(lock, [&] { return letter.state != Letter::State::Claimed; });
      if (letter.receive != nullptr) {
        letter.receive->letter = nullptr;
        letter.receive = nullptr;
      }
    }
  }

  const Seat& seat_;
  std::vector<Letter> letters_;  // reserved: addresses must not change
  std::vector<Receive> receives_;
};

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
    Exchange(seat_, out, in, tag).wait();
  }
  Work start_transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    count(out);
    return Work(std::make_unique<Exchange>(seat_, out, in, tag));
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
