#include "dist/gradient_buckets.h"

#include <string>
#include <utility>

namespace ringlet {

std::vector<Bucket> cut_buckets(const FlatParameter& parameter, const BucketSizes& sizes) {
  check(sizes.first_bytes > 0 && sizes.bytes > 0, "buckets: must hold at least a byte, got {} and {}", sizes.first_bytes,
        sizes.bytes);
  const std::vector<FlatParameter::Entry>& entries = parameter.entries();
  const auto element = static_cast<int64_t>(size_of(parameter.dtype()));
  std::vector<Bucket> buckets;
  int64_t end = parameter.padded_numel();
  size_t last = entries.size();
  const auto close_at = [&](size_t first) {
    const int64_t begin = entries[first].offset;
    buckets.push_back({begin, end, first, last});
    end = begin;
    last = first;
  };
  for (size_t i = entries.size(); i-- > 0;) {
    const int64_t limit = buckets.empty() ? sizes.first_bytes : sizes.bytes;
    if (i + 1 < last && (end - entries[i].offset) * element > limit) {
      close_at(i + 1);
    }
  }
  close_at(0);
  return buckets;
}

struct GradientBuckets::State {
  Send send;
  std::vector<Bucket> buckets;
  std::vector<size_t> bucket_of;  // by entry
  std::vector<std::string> names;
  std::vector<bool> ready;      // by entry, in this step
  std::vector<size_t> waiting;  // by bucket: entries that are not ready
  size_t next = 0;              // bucket to leave
  bool open = false;

  void reset() {
    open = false;
    next = 0;
    ready.assign(bucket_of.size(), false);
    waiting.clear();
    for (const Bucket& bucket : buckets) {
      waiting.push_back(bucket.last_entry - bucket.first_entry);
    }
  }

  void leave() {
    const Bucket& bucket = buckets[next++];
    send(bucket.begin, bucket.end);
  }

  // [snippet: ready]
  // The hook of entry `i`. Its bucket may be full now, and still has to wait for those before it.
  void became_ready(size_t i) {
    if (!open) {
      return;  // a micro-batch that only accumulates
    }
    check(!ready[i], "buckets: the gradient of {} became ready twice in one backward, its bucket may have left", names[i]);
    ready[i] = true;
    --waiting[bucket_of[i]];
    while (next < buckets.size() && waiting[next] == 0) {
      leave();
    }
  }
  // [/snippet]
};

GradientBuckets::GradientBuckets(const FlatParameter& parameter, const BucketSizes& sizes, Send send)
    : state_(std::make_shared<State>()) {
  state_->send = std::move(send);
  state_->buckets = cut_buckets(parameter, sizes);
  state_->bucket_of.resize(parameter.entries().size());
  for (size_t b = 0; b < state_->buckets.size(); ++b) {
    for (size_t i = state_->buckets[b].first_entry; i < state_->buckets[b].last_entry; ++i) {
      state_->bucket_of[i] = b;
    }
  }
  for (size_t i = 0; i < parameter.entries().size(); ++i) {
    const FlatParameter::Entry& entry = parameter.entries()[i];
    state_->names.push_back(entry.name);
    Var var = entry.var;
    var.on_gradient_ready([known = std::weak_ptr<State>(state_), i] {
      if (const std::shared_ptr<State> state = known.lock()) {
        state->became_ready(i);
      }
    });
  }
  reset();
}

void GradientBuckets::open() { state_->open = true; }

void GradientBuckets::send_rest() {
  state_->open = false;
  while (state_->next < state_->buckets.size()) {
    state_->leave();
  }
}

void GradientBuckets::reset() { state_->reset(); }

const std::vector<Bucket>& GradientBuckets::buckets() const { return state_->buckets; }

}  // namespace ringlet
