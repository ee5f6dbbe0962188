#include "apps/training/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace ringlet {
namespace {

int write_all(int to, const char* bytes, ssize_t count) {
  while (count > 0) {
    const ssize_t written = write(to, bytes, static_cast<size_t>(count));
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    bytes += written < 0 ? 0 : written;
    count -= written < 0 ? 0 : written;
  }
  return 0;
}

}  // namespace

void keep_standard_files() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) < 0) {  // open takes the lowest number that is free: this one
      static_cast<void>(open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

bool all_was_printed() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

int relay(int from, int to) {
  std::array<char, 65536> bytes{};
  int fault = 0;
  for (;;) {
    const ssize_t got = read(from, bytes.data(), bytes.size());
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return fault;
    }
    if (got > 0 && fault == 0) {
      fault = write_all(to, bytes.data(), got);
    }
  }
}

}  // namespace ringlet
