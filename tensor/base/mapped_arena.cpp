#include "tensor/base/mapped_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tensor/base/check.h"

namespace ringlet {
namespace {

class MappedArena final : public Arena {
 public:
  explicit MappedArena(std::string directory) : directory_(std::move(directory)) {}

  void* acquire(size_t bytes) override {
    std::string path = directory_ + "/ringlet-XXXXXX";
    const int file = ::mkostemp(path.data(), O_CLOEXEC);
    check(file >= 0, "memory: cannot make a file in {}: {}", directory_, std::strerror(errno));
    ::unlink(path.c_str());
    const int full = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
    void* block = full == 0 ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    const int error = full != 0 ? full : errno;
    ::close(file);
    check(block != MAP_FAILED, "memory: cannot map {} bytes of a file in {}: {}", bytes, directory_, std::strerror(error));
    return block;
  }
  void release(void* block, size_t bytes) noexcept override { ::munmap(block, bytes); }

 private:
  std::string directory_;
};

}  // namespace

std::shared_ptr<Arena> mapped_arena(const std::string& directory) { return std::make_shared<MappedArena>(directory); }

}  // namespace ringlet
