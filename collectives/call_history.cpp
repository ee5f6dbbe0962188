#include "collectives/call_history.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "collectives/fingerprint.h"
#include "collectives/timeline.h"

namespace ringlet {
namespace {

constexpr uint64_t kBegun = 0x72696E676C657401;  // no zeroed or foreign memory reads so

template <size_t N>
void keep_end(std::string_view text, std::array<char, N>& kept) {
  text = text.substr(text.size() - std::min(text.size(), N - 1));
  std::memcpy(kept.data(), text.data(), text.size());
  kept[text.size()] = '\0';
}

}  // namespace

std::string_view name_of(CallRecord::State state) {
  switch (state) {
    case CallRecord::State::Running: return "running";
    case CallRecord::State::Done: return "done";
    case CallRecord::State::Failed: return "failed";
  }
  return "?";
}

struct alignas(64) CallHistory::Ring {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> calls{0};  // so far
  std::atomic<uint32_t> farewell{0};
  int32_t process = 0;
  std::array<CallRecord, kCalls> records{};

  CallRecord& at(uint64_t number) { return records[(number - 1) % kCalls]; }
  const CallRecord& at(uint64_t number) const { return records[(number - 1) % kCalls]; }
};

size_t CallHistory::bytes() { return sizeof(Ring); }

CallHistory::CallHistory(std::shared_ptr<std::byte> memory, int ranks, int rank)
    : memory_(std::move(memory)), first_(0), ranks_(ranks), rank_(rank), to_wall_ns_(Timeline::steady_to_wall_ns()) {
  Ring* ring = new (memory_.get() + static_cast<size_t>(rank - first_) * bytes()) Ring;  // touches every page, once
  ring->process = getpid();
  ring->begun.store(kBegun, std::memory_order_release);
}

CallHistory::CallHistory(int rank)
    : memory_(static_cast<std::byte*>(::operator new(bytes(), std::align_val_t(alignof(Ring)))),
              [](std::byte* block) { ::operator delete(block, std::align_val_t(alignof(Ring))); }),
      first_(rank),
      ranks_(1),
      rank_(rank),
      to_wall_ns_(Timeline::steady_to_wall_ns()) {
  Ring* ring = new (memory_.get()) Ring;
  ring->process = getpid();
  ring->begun.store(kBegun, std::memory_order_release);
}

CallHistory::Ring& CallHistory::own() const {
  return reinterpret_cast<Ring*>(memory_.get())[static_cast<size_t>(rank_ - first_)];
}

const CallHistory::Ring* CallHistory::ring(int rank) const {
  if (rank < first_ || rank >= first_ + ranks_) {
    return nullptr;
  }
  const Ring* found = reinterpret_cast<const Ring*>(memory_.get()) + (rank - first_);
  return found->begun.load(std::memory_order_acquire) == kBegun ? found : nullptr;
}

uint64_t CallHistory::begin(const Call& call, const std::string& group) {
  Ring& ring = own();
  const uint64_t number = ring.calls.load(std::memory_order_relaxed) + 1;
  const Fingerprint print = fingerprint_of(call, 0);
  CallRecord& record = ring.at(number);
  record = {.number = number,
            .sequence = call.sequence,
            .count = print.count,
            .start_ns = Timeline::now_ns() + to_wall_ns_,
            .peer = call.peer,
            .operation = call.operation,
            .dtype = print.dtype,
            .op = print.op,
            .site = text_of(call.site)};
  keep_end(group, record.group);
  ring.calls.store(number, std::memory_order_release);
  return number;
}

void CallHistory::end(uint64_t number, CallRecord::State state) {
  CallRecord& record = own().at(number);
  if (record.number == number) {  // else 256 calls have begun since
    record.duration_ns = Timeline::now_ns() + to_wall_ns_ - record.start_ns;
    record.state = state;
  }
}

std::vector<CallRecord> CallHistory::of(int rank) const {
  std::vector<CallRecord> calls;
  if (const Ring* found = ring(rank)) {
    const uint64_t last = found->calls.load(std::memory_order_acquire);
    for (uint64_t number = last - std::min<uint64_t>(last, kCalls) + 1; number <= last; ++number) {
      calls.push_back(found->at(number));
    }
  }
  return calls;
}

std::vector<int> CallHistory::readable() const {
  std::vector<int> ranks;
  for (int rank = first_; rank < first_ + ranks_; ++rank) {
    if (ring(rank) != nullptr) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

void CallHistory::say_farewell() { own().farewell.store(1); }

bool CallHistory::said_farewell(int rank) const {
  const Ring* found = ring(rank);
  return found != nullptr && found->farewell.load() != 0;
}

int CallHistory::process_of(int rank) const {
  const Ring* found = ring(rank);
  return found == nullptr ? 0 : found->process;
}

}  // namespace ringlet
