#include "test/emulated_gpu/kernel/kernel_name.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace ringlet::emulated_gpu {
namespace {

// dladdr knows only what a library exports: the table of all symbols stands in its file.
std::string symbol_at(const std::vector<char>& file, uint64_t offset) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(file.data());
  if (file.size() < sizeof *header || header->e_shoff + header->e_shnum * sizeof(ElfW(Shdr)) > file.size()) {
    return "";
  }
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(file.data() + header->e_shoff);
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) {
      continue;
    }
    const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(file.data() + sections[s].sh_offset);
    const char* names = file.data() + sections[sections[s].sh_link].sh_offset;
    for (size_t i = 0; i < sections[s].sh_size / sizeof *symbols; ++i) {
      if ((symbols[i].st_info & 0xf) == STT_FUNC && symbols[i].st_value <= offset &&
          offset < symbols[i].st_value + std::max<uint64_t>(symbols[i].st_size, 1)) {
        return names + symbols[i].st_name;
      }
    }
  }
  return "";
}

}  // namespace

std::string mangled_kernel_name(const void* function) {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(function, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return "";
  }
  std::ifstream stream(map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe", std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return symbol_at(file, reinterpret_cast<uintptr_t>(function) - map->l_addr);
}

std::string kernel_name(const void* function) {
  const std::string mangled = mangled_kernel_name(function);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  if (name) {
    return name.get();
  }
  return mangled.empty() ? "kernel" : mangled;
}

}  // namespace ringlet::emulated_gpu
