# Reads file names, one a line, and checks each file. Used by check_sources.

BEGIN {
  # Which layers a layer may include, itself apart.
  may["base"] = ""
  may["tensor"] = "base"
  may["autograd"] = "tensor base"
  may["nn"] = "autograd tensor base"
  may["optim"] = "autograd tensor base"
  may["collectives"] = "base"
  may["dist"] = "collectives optim nn autograd tensor base"
  may["apps"] = "dist collectives optim nn autograd tensor base"
  may["test"] = "apps dist collectives optim nn autograd tensor base"

  # Whose headers a layer's .cpp and .cu may include, beyond those of the system.
  guests["base"] = "xxhash fmt"
  guests["tensor"] = "Eigen dnnl cuda cublas"
  guests["collectives"] = "mpi nccl cuda"
  guests["dist"] = "openssl nlohmann"
  guests["apps"] = "CLI nlohmann"
  guests["bench"] = "CLI nlohmann Eigen dnnl gloo mpi"
  guests["test"] = "catch2 cuda cublas nccl Eigen dnnl mpi openssl nlohmann xxhash fmt"

  n = split("xxhash fmt Eigen dnnl gloo cuda cublas mpi nccl openssl nlohmann CLI catch2", known, " ")
  for (i = 1; i <= n; ++i) third_party[known[i]] = 1

  n = split("algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits " \
    "clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio " \
    "cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional future " \
    "initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new " \
    "numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex " \
    "source_location span sstream stack stdexcept stop_token streambuf string string_view strstream syncstream system_error " \
    "thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version", word, " ")
  for (i = 1; i <= n; ++i) standard[word[i]] = 1

  # Of the system (POSIX, Linux, the compiler): allowed in a .cpp, not in a .h.
  system_header = "^(sys|linux|netinet|arpa)/|^(cpuid|cxxabi|dlfcn|elf|errno|fcntl|immintrin|limits|link|malloc|math|netdb|omp|poll|pthread|" \
                  "sched|semaphore|signal|spawn|stdlib|string|termios|time|ucontext|unistd|x86intrin)\\.h$"

  unsafe_flag = "(^|[ =\"';(])-(Ofast|ffast-math|funsafe-math|ffinite-math-only|fassociative-math)"
}

function breach(rule) {
  printf "%s:%d: %s\n", file, line, rule
  ++breaches
}

# The layer that a path belongs to; empty for build files and scripts.
function layer_of(path,    part) {
  if (path ~ /^tensor\/base\//) return "base"
  split(path, part, "/")
  return (part[1] in may) ? part[1] : ""
}

# The library that a header in <> belongs to: "std", "system", one of third_party, or empty when nobody knows it.
function owner_of(header,    name) {
  if (header in standard) return "std"
  if (header ~ system_header) return "system"
  name = header
  if (name ~ /^(cuda|driver_types|device_launch|library_types|mma\.h|vector_types)/) return "cuda"
  if (name ~ /^cublas/) return "cublas"
  sub(/[_\/.].*/, "", name)
  return (name in third_party) ? name : ""
}

function listed(name, list) { return index(" " list " ", " " name " ") > 0 }

function check_include(text,    header, own, target, owner, hosts) {
  own = layer_of(file)
  if (text ~ /"/) {
    header = text; sub(/^[^"]*"/, "", header); sub(/".*/, "", header)
    target = layer_of(header)
    if (target == "") breach("include: a path from the root of the tree, got \"" header "\"")
    else if (target != own && !listed(target, may[own])) breach("include: " own " may not include " target ", got \"" header "\"")
    return
  }
  header = text; sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
  owner = owner_of(header)
  if (owner == "std") return
  if (owner == "") { breach("include: a header that test/style/check_sources.awk does not know, got <" header ">"); return }
  if (file ~ /^tensor\/kernels\// && header == "immintrin.h") return   # the registers themselves
  if (file ~ /^tensor\/kernels\/cuda\/(launch\.h|.*\.cuh)$/ && (owner == "cuda" || owner == "system")) return   # those that speak CUDA
  if (file ~ /\.(h|cuh)$/ && file !~ /^test\//) {
    breach("include: only the standard library and our own in a header, got <" header ">")
    return
  }
  if (owner == "system") return
  hosts = file ~ /^apps\/bench\// ? guests["bench"] : guests[own]
  if (!listed(owner, hosts)) breach("include: " own " may not include " owner ", got <" header ">")
  if (owner == "catch2" && file !~ /^test\/support\//) breach("include: Catch2 comes through test/support/catch.h, got <" header ">")
}

function check_file(    text, is_code) {
  is_code = file ~ /\.(h|cpp|cu|cuh)$/
  line = 0
  if (file ~ /(^|\/)(utils?|commons?|helpers?|misc)(\.|\/|$)/) breach("name: a file is named after what it holds")
  while ((getline text < file) > 0) {
    ++line
    if (is_code && text ~ /^[ \t]*#[ \t]*include/) check_include(text)
    if (text ~ /(^|[^A-Za-z0-9_])(TODO|FIXME|XXX|HACK)([^A-Za-z0-9_]|$)/) breach("word: done now or not begun, got " text)
    if (is_code ? text ~ /(pragma|optimize).*(fast-math|Ofast|unsafe-math|finite-math)/ : text !~ /^[ \t]*#/ && text ~ unsafe_flag)
      breach("flags: NaN and the order of sums are kept, got " text)
  }
  close(file)
  if (is_code && line > 300) breach("size: at most 300 lines, got " line ": usually two ideas")
  else if (is_code && line > 250) printf "%s: note: %d lines, more than about one screen\n", file, line
}

{ file = $0; ++files; check_file() }

END {
  if (files == 0) { print "check_sources: found no sources"; exit 1 }
  printf "%d files, %d breaches\n", files, breaches
  exit breaches > 0
}
