// Ranks as processes on shared memory, without MPI: what a process alone can do, dying for instance, and no more than that.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/backends/shared_memory.h"
#include "collectives/error.h"

namespace ringlet::test {

/// Zeroed memory that children see, and unmapped with the last copy.
inline std::shared_ptr<std::byte> memory_for_children(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED, "mmap: no memory");
  return {static_cast<std::byte*>(memory), [bytes](std::byte* block) { munmap(block, bytes); }};
}

/// Instead of messages: a split of color 0 on all ranks finds its arena here, everything else is an error.
class NoMessages final : public Communicator {
 public:
  NoMessages(int rank, int size, std::shared_ptr<std::byte> part, std::chrono::milliseconds deadline,
             std::string group = "world")
      : Communicator(rank, size, std::move(group)), part_(std::move(part)), deadline_(deadline) {}
  std::string_view name() const override { return "processes"; }
  std::string_view transport() const override { return "none"; }
  void run(const Call& call) override {
    check(call.operation == Operation::Split, "{}: there are no messages between these ranks", call.operation);
  }
  std::unique_ptr<Communicator> do_split(int color, int) override {
    check(color == 0 && part_ != nullptr, "split: one part of all ranks is all there is");
    return make_shared_memory(SharedArena(part_, size(), [] { return true; }),
                              std::make_unique<NoMessages>(rank(), size(), nullptr, deadline_, group() + "/0"), deadline_);
  }

 private:
  std::shared_ptr<std::byte> part_;
  std::chrono::milliseconds deadline_;
};

/// What body(world) returns, or the text of what it throws, of each of P processes; "killed" of one that died, "hung" of one that
/// had to be killed after a minute. A rank of which `starts` is false has no communicator and waits for the others' end.
inline std::vector<std::string> fork_ranks(
    int size, const std::function<std::string(Communicator&)>& body, std::chrono::milliseconds deadline,
    const std::function<bool(int)>& starts = [](int) { return true; }, const CopyOnce& copy_once = {}) {
  constexpr size_t kText = 8192;
  const auto arena_memory = memory_for_children(SharedArena::world_bytes(size));
  const auto part_memory = memory_for_children(SharedArena::world_bytes(size));
  const auto texts = memory_for_children(kText * static_cast<size_t>(size));
  const SharedArena arena(arena_memory, size, [] { return true; });
  arena.prepare();
  SharedArena(part_memory, size, [] { return true; }).prepare();

  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    children.push_back(fork());
    if (children.back() != 0) {
      continue;
    }
    std::string text;
    try {
      if (!starts(rank)) {
        pause();
      }
      const auto world =
          make_shared_memory(arena, std::make_unique<NoMessages>(rank, size, part_memory, deadline), deadline, true, copy_once);
      text = body(*world);
    } catch (const std::exception& error) {
      text = error.what();
    }
    text.resize(std::min(text.size(), kText - 1));
    std::memcpy(texts.get() + static_cast<size_t>(rank) * kText, text.data(), text.size());
    _exit(0);
  }

  std::vector<std::string> told(static_cast<size_t>(size));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (int rank = 0; rank < size; ++rank) {
    int status = 0;
    pid_t ended = starts(rank) ? 0 : -1;
    while (ended == 0 && std::chrono::steady_clock::now() < limit) {
      ended = waitpid(children[static_cast<size_t>(rank)], &status, WNOHANG);
      if (ended == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    std::string& text = told[static_cast<size_t>(rank)];
    text = reinterpret_cast<const char*>(texts.get() + static_cast<size_t>(rank) * kText);
    if (ended > 0 && WIFSIGNALED(status)) {
      text = "killed";
    } else if (ended == 0) {
      text = "hung";
    }
  }
  for (int rank = 0; rank < size; ++rank) {
    if (!starts(rank) || told[static_cast<size_t>(rank)] == "hung") {
      kill(children[static_cast<size_t>(rank)], SIGKILL);
      waitpid(children[static_cast<size_t>(rank)], nullptr, 0);
    }
  }
  return told;
}

}  // namespace ringlet::test
