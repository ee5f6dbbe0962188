#include "collectives/recorded.h"

#include <utility>

namespace ringlet {
namespace {

using State = CallRecord::State;

// One call from its beginning to its end. The caller's time in it may come in pieces: the start, the wait.
class Recording {
 public:
  Recording(const Recorder& recorder, const Communicator& inner, const Call& call)
      : recorder_(recorder), inner_(inner), call_(call), bytes_(whole_bytes(call, inner.size())) {
    if (recorder_.history != nullptr) {
      number_ = recorder_.history->begin(call, inner.group());
    }
    if (recorder_.ledger != nullptr) {
      LedgerRow& row = this->row();
      row.calls += 1;
      row.bytes += bytes_;
    }
    begun_ns_ = timed() ? Timeline::now_ns() : 0;
  }

  /// body(), as a part of the call.
  template <typename Body>
  auto part(Body&& body) {
    struct Part {
      Recording& call;
      int64_t began = call.timed() ? Timeline::now_ns() : 0;
      std::optional<Moved> before = call.recorder_.ledger != nullptr ? call.inner_.moved() : std::nullopt;
      ~Part() { call.add(began, before); }
    };
    try {
      const Part part{*this};
      return body();
    } catch (...) {
      end(State::Failed);
      throw;
    }
  }

  void end(State state) {
    if (recorder_.history != nullptr) {
      recorder_.history->end(number_, state);
    }
    if (recorder_.timeline != nullptr) {
      recorder_.timeline->add({.row = Span::Row::Communication,
                               .name = std::string(name_of(call_.operation)),
                               .begin_ns = begun_ns_,
                               .end_ns = Timeline::now_ns(),
                               .group = inner_.group(),
                               .sequence = call_.sequence,
                               .bytes = bytes_,
                               .site = std::string(text_of(call_.site).view()),
                               .control = call_.control});
    }
  }

 private:
  bool timed() const { return recorder_.ledger != nullptr || recorder_.timeline != nullptr; }
  LedgerRow& row() const { return recorder_.ledger->row(inner_.group(), inner_.size(), call_); }
  void add(int64_t began, const std::optional<Moved>& before) const {
    if (recorder_.ledger == nullptr) {
      return;
    }
    LedgerRow& row = this->row();
    row.seconds += 1e-9 * static_cast<double>(Timeline::now_ns() - began);
    if (before) {
      row.moved = row.moved.value_or(Moved{});
      *row.moved += *inner_.moved() - *before;
    }
  }

  const Recorder& recorder_;
  const Communicator& inner_;
  Call call_;
  int64_t bytes_;
  uint64_t number_ = 0;
  int64_t begun_ns_ = 0;
};

class RecordedWork final : public Work::Pending {
 public:
  RecordedWork(Recording recording, Work work) : recording_(std::move(recording)), work_(std::move(work)) {}
  bool done() override { return work_.done(); }
  void wait() override {
    recording_.part([&] { work_.wait(); });
    recording_.end(State::Done);
  }

 private:
  Recording recording_;
  Work work_;
};

class RecordedCommunicator final : public Communicator {
 public:
  RecordedCommunicator(std::unique_ptr<Communicator> inner, Recorder recorder)
      : Communicator(inner->rank(), inner->size(), inner->group(), inner->sequence()),
        inner_(std::move(inner)),
        recorder_(std::move(recorder)) {}

  std::string_view name() const override { return inner_->name(); }
  std::string_view transport() const override { return inner_->transport(); }
  std::string transport_details() const override { return inner_->transport_details(); }
  std::shared_ptr<Arena> arena() const override { return inner_->arena(); }
  std::optional<Moved> moved() const override { return inner_->moved(); }
  int64_t held_bytes() const override { return inner_->held_bytes(); }
  const CommError* failure() const override { return inner_->failure(); }
  int64_t scratch_bytes(const Call& call) const override { return inner_->scratch_bytes(call); }

  void look_after_peers() override { inner_->look_after_peers(); }

  void run(const Call& call) override {
    Recording recording(recorder_, *inner_, call);
    recording.part([&] { inner_->run(call); });
    recording.end(State::Done);
  }
  Work start(const Call& call) override {
    Recording recording(recorder_, *inner_, call);
    Work work = recording.part([&] { return inner_->start(call); });
    return Work(std::make_unique<RecordedWork>(std::move(recording), std::move(work)));
  }
  std::unique_ptr<Communicator> do_split(int color, int key) override {
    std::unique_ptr<Communicator> part = inner_->do_split(color, key);
    return part == nullptr ? nullptr : make_recorded(std::move(part), recorder_);
  }

 private:
  std::unique_ptr<Communicator> inner_;
  Recorder recorder_;
};

}  // namespace

std::unique_ptr<Communicator> make_recorded(std::unique_ptr<Communicator> inner, Recorder recorder) {
  return std::make_unique<RecordedCommunicator>(std::move(inner), std::move(recorder));
}

}  // namespace ringlet
