// Runs a kernel on one host thread: its blocks in turn, the threads of a block as fibers.
//
// A thread runs until it ends or waits. Most never wait: they run to their end one after the other on the same stack. One that
// waits keeps its stack until those it waits for have come.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "test/emulated_gpu/control.h"
#include "test/emulated_gpu/device/warp.h"
#include "test/emulated_gpu/kernel/fiber.h"
#include "test/emulated_gpu/kernel/racecheck.h"
#include "test/emulated_gpu/kernel_launch.h"

namespace ringlet::emulated_gpu {

class BlockRunner {
 public:
  /// That of the calling host thread.
  static BlockRunner& current();

  void run(const KernelLaunch& launch);

  // What threads of the running block call.
  void wait_for_block(Site site);
  void wait_for_lanes(uint32_t mask, Site site, void* argument, void (*together)(LaneArguments));
  int count_in_block(bool predicate, Site site);
  void look_at(size_t memory, size_t offset, size_t bytes, AccessKind kind);

 private:
  enum class State : uint8_t { NotBegun, Ready, AtBarrier, InWarp, Finished };
  struct Thread {
    State state = State::NotBegun;
    uint32_t mask = 0;  // of the lanes it waits for
    Context* stack = nullptr;
    Site site{};
    void* argument = nullptr;
  };
  struct LaneGroup {  // those that wait for each other; arrived == 0: nobody does
    uint32_t mask = 0, arrived = 0;
    const char* operation = nullptr;
  };

  void run_block();
  void run_threads();  // on a fiber: those that have not begun, as long as nobody else is ready
  void begin(unsigned thread, Context* own);
  void resume(unsigned thread);
  void stop();  // on a fiber: back to run_block until resumed
  void release_block();
  void release_lanes(unsigned first, uint32_t mask, void (*together)(LaneArguments));
  void put_in_order(std::vector<unsigned>& threads);
  void go_to(unsigned thread);
  [[noreturn]] void report(const char* rule, unsigned thread) const;
  [[noreturn]] void report(const Race& race) const;
  void describe(unsigned thread) const;

  const KernelLaunch* launch_ = nullptr;
  unsigned threads_per_block_ = 0;
  std::vector<uint3> indices_;  // of the threads
  std::vector<Thread> threads_;
  std::vector<std::vector<LaneGroup>> groups_;  // of each warp, one for each mask it uses
  std::vector<unsigned> order_;                 // in which threads begin
  std::vector<unsigned> ready_;                 // those that may go on, from ready_begin_
  size_t ready_begin_ = 0;
  unsigned next_ = 0, running_ = 0, finished_ = 0, at_barrier_ = 0;
  Site barrier_{};
  int count_ = 0, counted_ = 0;

  Racecheck racecheck_;

  std::unique_ptr<Context> scheduler_;
  std::vector<std::unique_ptr<Context>> stacks_;
  std::vector<Context*> idle_;
  Context* entering_ = nullptr;
  Order kind_of_order_ = Order::Forward;
  std::mt19937 random_;
};

}  // namespace ringlet::emulated_gpu
