#include "test/emulated_gpu/kernel/static_shared.h"

#include <link.h>

#include <cstdint>
#include <cstring>

// The dynamic linker's own: where the calling thread has the variables of a library.
struct tls_index {
  unsigned long module, offset;
};
extern "C" void* __tls_get_addr(tls_index* index);

namespace ringlet::emulated_gpu {
namespace {

struct Search {
  uintptr_t address;
  size_t module = 0, bytes = 0;
};

int look_into(dl_phdr_info* library, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  bool is_here = false;
  size_t bytes = 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    const uintptr_t begin = library->dlpi_addr + part.p_vaddr;
    is_here = is_here || (part.p_type == PT_LOAD && search.address >= begin && search.address < begin + part.p_memsz);
    bytes = part.p_type == PT_TLS ? part.p_memsz : bytes;
  }
  if (is_here) {
    search.module = library->dlpi_tls_modid;
    search.bytes = bytes;
  }
  return is_here ? 1 : 0;
}

}  // namespace

StaticShared::StaticShared(const void* kernel) {
  Search search{.address = reinterpret_cast<uintptr_t>(kernel)};
  dl_iterate_phdr(look_into, &search);
  if (search.module != 0 && search.bytes > 0) {
    tls_index index{search.module, 0};
    begin_ = __tls_get_addr(&index);
    before_.assign(static_cast<char*>(begin_), static_cast<char*>(begin_) + search.bytes);
    std::memset(begin_, 0xff, search.bytes);
  }
}

StaticShared::~StaticShared() {
  if (begin_ != nullptr) {
    std::memcpy(begin_, before_.data(), before_.size());
  }
}

}  // namespace ringlet::emulated_gpu
