#include "collectives/backends/shared_memory.h"

#include <cmath>
#include <utility>

#include "collectives/backends/shared_direct.h"
#include "collectives/backends/shared_movement.h"
#include "collectives/backends/shared_reduction.h"
#include "collectives/transports/shared_heap.h"
#include "collectives/transports/shared_rooms.h"
#include "collectives/transports/shared_staging.h"
#include "tensor/base/hash.h"

namespace ringlet {
namespace {

constexpr size_t kSmall = size_t{16} << 10;

std::string text_of(size_t from) { return from == SIZE_MAX ? "never" : message("from {} KB", from >> 10); }

class SharedMemoryCommunicator : public Communicator {
 public:
  SharedMemoryCommunicator(SharedArena arena, std::unique_ptr<Communicator> messages, std::chrono::milliseconds deadline,
                           bool compare_calls, CopyOnce copy_once)
      : Communicator(messages->rank(), messages->size(), messages->group()),
        group_hash_(hash_text(messages->group())),
        messages_(std::move(messages)),
        deadline_(deadline),
        shared_(std::move(arena), rank(), size(), deadline),
        compare_calls_(compare_calls),
        copy_once_(std::move(copy_once)) {}

  std::string_view name() const override { return messages_->name(); }
  std::string_view transport() const override { return "shm"; }

  std::optional<Moved> moved() const override { return Moved{.bytes = static_cast<int64_t>(shared_.copied())}; }
  std::shared_ptr<Arena> arena() const override { return heap_; }
  std::string transport_details() const override {
    const double round = shared_.arena().head().handover_ns.load();
    return message(
        "{}{}",
        copy_once_.why_not.empty()
            ? message("copied once, by process_vm_readv: parts {}, broadcast {}, all_reduce {}", text_of(copy_once_.moves_from),
                      text_of(copy_once_.broadcasts_from), text_of(copy_once_.reduces_from))
            : message("all is copied in and out ({})", copy_once_.why_not),
        round > 0 ? message("; a line of memory goes to another core and back in {} ns", std::lround(round)) : "");
  }

  const CommError* failure() const override { return messages_->failure(); }
  void look_after_peers() override { size() == 1 ? messages_->look_after_peers() : shared_.phases().look_for_the_failed(); }

  void run(const Call& call) override {
    if (size() == 1 || !is_collective(call.operation)) {
      return messages_->run(call);
    }
    check_host_memory(call, name());
    if (failure() != nullptr) {
      throw *failure();
    }
    if (compare_calls_) {
      shared_.phases().announce(fingerprint_of(call, group_hash_), text_of(call.site));
    }
    if (!has_buffers(call.operation)) {
      shared_.phases().meet();
    } else {
      shared_.expect(call.out.bytes() * static_cast<size_t>(size()));
      const bool lends = reads_where_it_is(call);
      if (!(lends || goes_direct(call)) || !go_direct(shared_, call, lends)) {
        (is_reduction(call.operation) ? reduce_through : move_through)(shared_, call);
      }
    }
    shared_.phases().conclude();
  }
  Work start(const Call& call) override {
    if (size() == 1 || !is_collective(call.operation)) {
      return messages_->start(call);
    }
    run(call);
    return {};
  }

 protected:
  // Parts of a part talk by messages.
  std::unique_ptr<Communicator> do_split(int color, int key) override { return messages_->split(color, key); }
  const SharedArena& shared_arena() const { return shared_.arena(); }
  std::chrono::milliseconds deadline() const { return deadline_; }
  const CopyOnce& copy_once() const { return copy_once_; }

 private:
  // Small ones are copied faster than two phases are met.
  bool goes_direct(const Call& call) const {
    return shared_.arena().heap_bytes() > 0 && can_go_direct(call) && part_bytes(call) > kSmall;
  }
  // What a rank gives or gets of another, as all ranks know it: of the V forms the mean.
  size_t part_bytes(const Call& call) const {
    const size_t all = static_cast<size_t>(agreed_count(call)) * size_of(call.in.dtype);
    return has_counts(call.operation) ? all / static_cast<size_t>(size()) : all;
  }
  // Long ones are copied faster by the kernel than twice.
  bool reads_where_it_is(const Call& call) const {
    if (is_reduction(call.operation)) {
      const size_t bytes = call.in.bytes();
      return call.operation == Operation::AllReduce && bytes >= copy_once_.reduces_from && bytes <= copy_once_.reduces_to;
    }
    const bool all_alike = call.operation == Operation::Broadcast;
    return can_go_direct(call) && part_bytes(call) >= (all_alike ? copy_once_.broadcasts_from : copy_once_.moves_from);
  }

  uint64_t group_hash_;
  std::unique_ptr<Communicator> messages_;
  std::chrono::milliseconds deadline_;
  SharedStaging shared_;
  bool compare_calls_;
  CopyOnce copy_once_;
  std::shared_ptr<Arena> heap_ =
      shared_.arena().heap_bytes() == 0
          ? system_arena()
          : std::make_shared<SharedHeap>(shared_.arena().heap(rank()), shared_.arena().heap_bytes(), shared_.arena().memory());
};

// Has room for the arenas of its parts, and is counted as held with all that it has.
class SharedWorld final : public SharedMemoryCommunicator {
 public:
  SharedWorld(const SharedArena& arena, std::unique_ptr<Communicator> messages, std::chrono::milliseconds deadline,
              bool compare_calls, CopyOnce copy_once)
      : SharedMemoryCommunicator(arena, std::move(messages), deadline, compare_calls, std::move(copy_once)),
        rooms_(arena, rank()) {
    allocator_->count(share(), Category::Communication);
  }
  ~SharedWorld() override { allocator_->count(-share(), Category::Communication); }

  int64_t held_bytes() const override { return share(); }

 protected:
  std::unique_ptr<Communicator> do_split(int color, int key) override {
    std::unique_ptr<Communicator> part = SharedMemoryCommunicator::do_split(color, key);
    if (part == nullptr || part->size() == 1) {
      return part;
    }
    const std::optional<SharedArena> room = rooms_.open(*part);
    return room ? std::make_unique<SharedMemoryCommunicator>(*room, std::move(part), deadline(), true, copy_once())
                : std::move(part);
  }

 private:
  int64_t share() const { return static_cast<int64_t>(shared_arena().share(rank())); }

  SharedRooms rooms_;
  std::shared_ptr<Allocator> allocator_ = Allocator::on(Device{});
};

}  // namespace

std::unique_ptr<Communicator> make_shared_memory(SharedArena arena, std::unique_ptr<Communicator> messages,
                                                 std::chrono::milliseconds deadline, bool compare_calls, CopyOnce copy_once) {
  return std::make_unique<SharedWorld>(arena, std::move(messages), deadline, compare_calls, std::move(copy_once));
}

}  // namespace ringlet
