# shellcheck shell=sh disable=SC2034,SC2154
# What demo and check have in common: packages, configuration and build, what Open MPI needs to start. Sourced, never run;
# the caller has set $program (its name) and $root (the source tree). Works on an empty machine, as root or not.

build_packages="g++ cmake ninja-build pkg-config libopenmpi-dev openmpi-bin libeigen3-dev libxxhash-dev libssl-dev \
libcli11-dev nlohmann-json3-dev libfmt-dev"
test_packages="catch2 clang-format"

# The Debian packages among "$@" that are not installed, on one line.
missing_packages() {
  dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | awk -v wanted="$*" '
    $1 == "installed" { here[$2] = 1 }
    END {
      n = split(wanted, package, " ")
      for (i = 1; i <= n; ++i) if (!(package[i] in here)) { printf "%s%s", separator, package[i]; separator = " " }
    }'
}

# Installs what is missing of "$@", as root or through a sudo that asks for no password. Otherwise it says which one line
# does so, and ends the script with 2. With everything in place it needs no root, no sudo and no network.
ensure_packages() {
  command -v dpkg-query >/dev/null || return 0   # not Debian: CMake will name what it does not find
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0

  if [ "$(id -u)" -eq 0 ]; then
    as_root=""
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
  else
    how="as root" sudo=""
    if command -v sudo >/dev/null; then how="with your password" sudo="sudo "; fi
    echo "$program: packages are missing. Run this $how, then ./$program again:" >&2
    echo "${sudo}apt-get update && ${sudo}apt-get install -y --no-install-recommends $missing" >&2
    exit 2
  fi
  echo "$program: installing $missing"
  # shellcheck disable=SC2086  # the words of $as_root and $missing are meant to be split
  {
    $as_root apt-get update -qq || echo "$program: apt-get update failed; trying with the package lists at hand" >&2
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 $missing >/dev/null
  } || { echo "$program: apt-get could not install: $missing" >&2; exit 2; }
}

# configure_and_build BUILD TARGET OPTIONS...: ninja where there is one, make otherwise; a build folder keeps its first choice.
configure_and_build() {
  build=$1 target=$2
  shift 2
  # A tree that was moved or copied brings a cache that points to where it was.
  if [ -f "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
    rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles"
  fi
  if [ ! -f "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then
    set -- -G Ninja "$@"
  fi
  cmake -S "$root" -B "$build" --log-level=NOTICE "$@"
  cmake --build "$build" --target "$target" --parallel "$(nproc)"
}

# Lets mpirun start as root, with more ranks than cores, and without tying each rank to one core, unless the caller has said
# otherwise. Open MPI 4 reads the first spelling of each, Open MPI 5 the second.
mpi_environment() {
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe:-1}"
  export PRTE_MCA_rmaps_default_mapping_policy="${PRTE_MCA_rmaps_default_mapping_policy:-:oversubscribe}"
  export OMPI_MCA_hwloc_base_binding_policy="${OMPI_MCA_hwloc_base_binding_policy:-none}"
  export PRTE_MCA_hwloc_default_binding_policy="${PRTE_MCA_hwloc_default_binding_policy:-none}"
}
