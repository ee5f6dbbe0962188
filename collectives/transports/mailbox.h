// Where letters wait for their receive and receives for their letter. Internal to thread_mailbox; the caller holds the hub's lock.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ringlet {

/// What a letter and a receive must share to meet. `source`, and the owner of the mailbox, are ranks of the hub.
struct Envelope {
  int source = 0;
  int context = 0;  // which group
  int tag = 0;
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

struct Receive;

/// Lives in the sender's call until the receiver has read it or it is retracted.
struct Letter {
  enum class State : uint8_t { Waiting, Claimed, Read, Lost };
  Envelope envelope{};
  int dest = 0;
  std::span<const std::byte> bytes{};
  State state = State::Waiting;
  Receive* receive = nullptr;  // once matched
};

/// Lives in the receiver's call.
struct Receive {
  Envelope envelope{};
  std::span<std::byte> bytes{};
  Letter* letter = nullptr;  // once matched
  bool done = false;
};

/// One rank's. A letter meets the first receive that fits, a receive the first letter that fits, in the order posted.
class Mailbox {
 public:
  void post(Letter& letter) {
    if (Receive* receive = take(receives_, letter.envelope)) {
      match(letter, *receive);
      news.notify_one();
    } else {
      letters_.push_back(&letter);
    }
  }
  void post(Receive& receive) {
    if (Letter* letter = take(letters_, receive.envelope)) {
      match(*letter, receive);
    } else {
      receives_.push_back(&receive);
    }
  }
  void retract(const Letter& letter) {
    std::erase(letters_, &letter);
    std::erase(matched_, letter.receive);
  }
  void retract(const Receive& receive) {
    std::erase(receives_, &receive);
    std::erase(matched_, &receive);
  }
  /// A receive of the owner's whose letter can be read at once.
  Receive* readable() const {
    const auto found = std::find_if(matched_.begin(), matched_.end(),
                                    [](const Receive* one) { return one->letter->bytes.size() == one->bytes.size(); });
    return found == matched_.end() ? nullptr : *found;
  }

  std::condition_variable news{};  // for the owner: a letter was matched, one of its own was read, a rank left
  bool left = false;

 private:
  template <typename T>
  static T* take(std::vector<T*>& queue, const Envelope& envelope) {
    const auto found = std::find_if(queue.begin(), queue.end(), [&](const T* one) { return one->envelope == envelope; });
    if (found == queue.end()) {
      return nullptr;
    }
    T* one = *found;
    queue.erase(found);
    return one;
  }
  void match(Letter& letter, Receive& receive) {
    letter.receive = &receive;
    receive.letter = &letter;
    matched_.push_back(&receive);
  }

  std::vector<Letter*> letters_{};
  std::vector<Receive*> receives_{};
  std::vector<Receive*> matched_{};  // and not yet read
};

}  // namespace ringlet
