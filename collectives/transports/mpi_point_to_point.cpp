#include "collectives/transports/mpi_point_to_point.h"

#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/transports/call_tag.h"
#include "collectives/transports/mpi_comm.h"
#include "collectives/transports/mpi_control.h"
#include "collectives/transports/mpi_exchange.h"
#include "collectives/transports/mpi_hosts.h"
#include "collectives/transports/mpi_session.h"
#include "collectives/transports/process.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

constexpr std::chrono::milliseconds kGrace(100);          // for messages that are already on their way
constexpr std::chrono::milliseconds kTimeToAnswer(1000);  // in a dispute
constexpr std::chrono::milliseconds kLook(100);           // between looks at who lives
constexpr std::chrono::microseconds kNap(100);            // in a dispute: those who have not spoken want the core

// A world's, shared by its parts. The session ends last.
struct Shared {
  explicit Shared(std::chrono::milliseconds deadline) : control(deadline) {}
  MpiSession session{};
  MpiControl control;
  std::vector<int> hosts = mpi_hosts();  // by rank of the job
  int largest_tag = MpiComm::largest_tag();
};

class MpiPointToPoint final : public PointToPoint {
 public:
  MpiPointToPoint(std::shared_ptr<Shared> shared, MpiComm comm, MpiOptions options, uint64_t id)
      : PointToPoint(comm.rank(), comm.size()),
        shared_(std::move(shared)),
        comm_(std::move(comm)),
        user_comm_(comm_.split(0, rank())),
        options_(options),
        id_(id) {
    for (int r = 0; r < size(); ++r) {
      members_.push_back(comm_.rank_in(control().comm(), r));
    }
    control().enter(id_);
  }
  // The end is a call like any other: who waits for another one with this rank is told at once.
  ~MpiPointToPoint() override {
    if (size() > 1 && !mpi_finished()) {
      const bool failed = std::uncaught_exceptions() > exceptions_;
      try {
        if (!told_) {
          control().tell(failed ? Notice::Kind::Failed : Notice::Kind::Left, leaving_after(call_.sequence, id_), site_);
        }
      } catch (const CommError&) {  // NOLINT(bugprone-empty-catch): a destructor cannot report
      }
      if (failed || control().disputed()) {
        comm_.abandon();
        user_comm_.abandon();
      }
    }
    control().exit(id_);
  }

  std::string_view name() const override { return "messages"; }

  void announce(const Fingerprint& call, const SiteText& site) override {
    in_message_ = false;
    if (!options_.compare_calls) {
      return;
    }
    call_ = call;
    site_ = site;
    call_.group = id_;
    call_tag_ = CallTag(call_, shared_->largest_tag);
    // What has been heard so far: who must wait hears the rest (watch). To ask MPI here would cost more than all else that is compared,
    // for with fewer cores than ranks it gives the core away when there is no news.
    if (in_trouble()) {
      dispute(-1, "the ranks have disagreed before");
    }
  }
  void conclude() override {}
  void look_after_peers() override {
    control().poll();
    if (control().disputed(id_, call_.sequence)) {
      dispute(-1, "another rank could not complete its call");
    }
    look_for_the_dead(std::chrono::steady_clock::now());
  }

  void give_up(int peer, const std::string& complaint) override {
    in_message_ = true;
    dispute(peer, complaint);
  }

  void transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    count(out);
    MpiExchange exchange(lane(tag), options_, out, in, tag_on_wire(tag), [this, tag](int peer) { return watch(peer, tag); });
    watch_for(exchange);
  }
  Work start_transfer(std::span<const Outgoing> out, std::span<const Incoming> in, int tag) override {
    count(out);
    return Work(
        std::make_unique<Started>(*this, std::make_unique<MpiExchange>(lane(tag), options_, out, in, tag_on_wire(tag),
                                                                       [this, tag](int peer) { return watch(peer, tag); })));
  }
  std::unique_ptr<PointToPoint> split(int color, int key) override {
    MpiComm part = comm_.split(color, key);
    const uint64_t id = mix64(mix64(id_ + call_.sequence) + static_cast<uint64_t>(color));
    return part.valid() ? std::make_unique<MpiPointToPoint>(shared_, std::move(part), options_, id) : nullptr;
  }

 private:
  // A message on its way, whose failure is everybody's.
  class Started final : public Work::Pending {
   public:
    Started(MpiPointToPoint& owner, std::unique_ptr<MpiExchange> exchange) : owner_(owner), exchange_(std::move(exchange)) {}
    bool done() override { return exchange_->done(); }
    void wait() override {
      owner_.in_message_ = true;
      owner_.watch_for(*exchange_);
    }

   private:
    MpiPointToPoint& owner_;
    std::unique_ptr<MpiExchange> exchange_;
  };

  MpiControl& control() const { return shared_->control; }

  // Collectives and the caller's own messages have a communicator each, so that the tags of the former are ours alone.
  const MpiComm& lane(int tag) const { return tag == kCollectiveTag ? comm_ : user_comm_; }
  int tag_on_wire(int tag) const {
    if (tag < kHashedTags) {
      return tag == kCollectiveTag ? call_tag_.on_wire() : tag;
    }
    return kHashedTags + (tag - kHashedTags) % (shared_->largest_tag - kHashedTags + 1);
  }

  void watch_for(MpiExchange& exchange) {
    trouble_since_ = {};
    try {
      exchange.wait();
    } catch (const CommError& error) {
      if (told_) {
        throw;
      }
      dispute(error.peer(), error.reason());
    }
  }

  bool in_trouble() const { return control().disputed(id_, call_.sequence) || control().left_before(id_, call_.sequence) >= 0; }

  // Called while waiting for `peer`. Returns whether it is on another host.
  bool watch(int peer, int tag) {
    control().poll();
    look_for_trouble(peer, tag);
    if (tag == kCollectiveTag && call_tag_.contradicts(comm_.unexpected_from(peer))) {
      dispute(peer, message("rank {} makes another call", peer));
    }
    const auto host_of = [this](int r) { return shared_->hosts[static_cast<size_t>(members_[static_cast<size_t>(r)])]; };
    return host_of(peer) != host_of(rank());
  }

  // A message needs nobody else, a collective needs all.
  void look_for_trouble(int peer, int tag) {
    const int member = members_[static_cast<size_t>(peer)];
    const auto now = std::chrono::steady_clock::now();
    if (!in_trouble() && (tag == kCollectiveTag || control().heard(member, id_).kind == Notice::Kind::None)) {
      return look_for_the_dead(now);
    }
    if (trouble_since_ == std::chrono::steady_clock::time_point()) {
      trouble_since_ = now;
    } else if (now - trouble_since_ > kGrace) {
      if (tag != kCollectiveTag && control().heard(member, id_).kind != Notice::Kind::None) {
        dispute(peer, message("rank {} has left, or could not complete a call", peer));
      }
      dispute(-1, "another rank could not complete its call");
    }
  }

  void look_for_the_dead(std::chrono::steady_clock::time_point now) {
    if (now - looked_ < kLook) {
      return;
    }
    looked_ = now;
    for (int r = 0; r < size(); ++r) {
      if (dead(r)) {
        dispute(r, message("rank {} is dead (process {})", r, control().process_of(members_[static_cast<size_t>(r)])));
      }
    }
  }
  // One that has said goodbye may be gone.
  bool dead(int r) const {
    const int member = members_[static_cast<size_t>(r)];
    return control().heard(member, id_).kind == Notice::Kind::None && is_dead(control().process_of(member));
  }

  // Tells everybody where this rank stands, gives them a moment to do the same, and throws what that comes to.
  [[noreturn]] void dispute(int peer, const std::string& complaint) {
    if (!std::exchange(told_, true)) {
      control().tell(in_message_ ? Notice::Kind::Message : Notice::Kind::Dispute, call_, site_);
    }
    std::vector<Standing> standings(static_cast<size_t>(size()));
    const auto limit = std::chrono::steady_clock::now() + kTimeToAnswer;
    while (!gather(standings) && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(kNap);
      control().poll();
    }
    throw disagreement(rank(), peer, complaint, standings);
  }

  // True when everybody has spoken.
  bool gather(std::vector<Standing>& standings) const {
    bool all = true;
    for (int r = 0; r < size(); ++r) {
      Standing& one = standings[static_cast<size_t>(r)];
      const Notice notice = control().heard(members_[static_cast<size_t>(r)], id_);
      switch (notice.kind) {
        case Notice::Kind::Dispute: one = {Standing::State::InCall, notice.call, notice.site}; break;
        case Notice::Kind::Message: one = {Standing::State::InMessage, notice.call, notice.site}; break;
        case Notice::Kind::Left: one = {Standing::State::Left, notice.call, notice.site}; break;
        case Notice::Kind::Failed: one = {Standing::State::Failed, notice.call, notice.site}; break;
        default:
          one.state = dead(r) ? Standing::State::Dead : Standing::State::Silent;
          all &= r == rank() || one.state == Standing::State::Dead;
      }
    }
    standings[static_cast<size_t>(rank())] = {in_message_ ? Standing::State::InMessage : Standing::State::InCall, call_, site_};
    return all;
  }

  std::shared_ptr<Shared> shared_;
  MpiComm comm_, user_comm_;
  MpiOptions options_;
  uint64_t id_;
  int exceptions_ = std::uncaught_exceptions();  // on their way when this was made
  std::vector<int> members_{};                   // ranks of the world, by rank here
  Fingerprint call_{};
  SiteText site_{};
  CallTag call_tag_{};
  bool in_message_ = false;  // what has been waited for last
  bool told_ = false;        // the others know that this rank could not complete its call
  std::chrono::steady_clock::time_point trouble_since_{}, looked_{};
};

}  // namespace

std::unique_ptr<PointToPoint> make_mpi_point_to_point(MpiOptions options) {
  check(options.max_message_bytes > 0 && options.max_message_bytes < (size_t{1} << 31),
        "mpi: max_message_bytes must be in 1 … 2^31 − 1, got {}", options.max_message_bytes);
  auto shared = std::make_shared<Shared>(options.deadline);
  return std::make_unique<MpiPointToPoint>(std::move(shared), MpiComm::world(), options, hash_text("world"));
}

}  // namespace ringlet
