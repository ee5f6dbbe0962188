// Messages between the mailboxes of a hub, on their way. Internal to thread_mailbox.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/error.h"
#include "collectives/transports/mailbox_seat.h"
#include "collectives/transports/point_to_point.h"
#include "collectives/work.h"

namespace ringlet {

// Sends and receives under way: posted at construction, finished by `wait`, retracted by the destructor if that threw.
class MailboxExchange final : public Work::Pending {
 public:
  MailboxExchange(const MailboxSeat& seat, std::span<const Outgoing> out, std::span<const Incoming> in, int tag) : seat_(seat) {
    letters_.reserve(out.size());
    receives_.reserve(in.size());
    const MailboxSeat::Lock lock(seat_.state.mutex);
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
  ~MailboxExchange() override { retract(); }
  MailboxExchange(const MailboxExchange&) = delete;
  MailboxExchange& operator=(const MailboxExchange&) = delete;

  void wait() override {
    MailboxSeat::Lock lock(seat_.state.mutex);
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
    MailboxSeat::Lock lock(seat_.state.mutex);
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
  void await(MailboxSeat::Lock& lock, int peer, const char* complaint, Ready ready) {
    MailboxHub::State& state = seat_.state;
    const auto given_up = [&] { return ready() || seat_.disputed() || state.first_failed >= 0 || state.box(peer).left; };
    const auto limit = std::chrono::steady_clock::now() + state.deadline;
    Mailbox& own = state.box(seat_.self());
    // Meanwhile whatever else has come for this rank is read: its sender may be whom all this waits for.
    do {
      own.news.wait_until(lock, limit, [&] { return given_up() || own.readable() != nullptr; });
      if (ready()) {
        return;
      }
    } while (own.readable() != nullptr && (read(lock, *own.readable()), true));
    if (state.first_failed >= 0 && !seat_.disputed()) {
      seat_.dispute(lock, seat_.member(state.first_failed),
                    message("world rank {} failed: {}", state.first_failed, state.reason));
    }
    if (state.box(peer).left) {
      seat_.dispute(lock, seat_.member(peer), message("world rank {} {} and is gone", peer, complaint));
    }
    if (std::chrono::steady_clock::now() < limit) {
      seat_.dispute(lock, -1, "another rank could not complete its call");
    }
    seat_.dispute(lock, seat_.member(peer),
                  message("world rank {} {} within the deadline of {} ms", peer, complaint, state.deadline.count()));
  }

  // Copies the letter of `receive`, if it has not been read yet. The lock is released meanwhile.
  void read(MailboxSeat::Lock& lock, Receive& receive) {
    if (receive.done) {
      return;
    }
    seat_.state.box(seat_.self()).retract(receive);
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
    MailboxSeat::Lock lock(seat_.state.mutex);
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

  const MailboxSeat& seat_;
  std::vector<Letter> letters_;  // reserved: addresses must not change
  std::vector<Receive> receives_;
};

}  // namespace ringlet
