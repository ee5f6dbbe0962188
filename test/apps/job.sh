# shellcheck shell=sh disable=SC2034
# What the tests of a program's behaviour share. Source it with $1 = the program; the test runs in a folder of its own.
set -u
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

. "$source_dir/cmake/setup.sh"
mpi_environment
export ASAN_OPTIONS=detect_leaks=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# run COMMAND...: its output in ./out and ./err, its exit code in $code, its wall time in $seconds.
run() {
  what=$*
  start=$(date +%s)
  code=0
  timeout -k 5 60 "$@" >out 2>err || code=$?
  seconds=$(($(date +%s) - start))
}

# expect CODE [PATTERN]: how the last run ended, and what it said on stdout or stderr.
expect() {
  [ "$code" = "$1" ] || { fail "$what: exit code $code, expected $1"; sed 's/^/    /' err | head -5; }
  [ $# -lt 2 ] || cat out err | grep -q -e "$2" || { fail "$what: says nothing of '$2'"; sed 's/^/    /' err | head -5; }
}

# The lines of ours on stderr; mpirun's own come on top.
ours() { grep -c "^$(basename "$program"): " err; }
expect_one_message() { [ "$(ours)" = 1 ] || { fail "$what: $(ours) messages of ours, expected 1"; sed 's/^/    /' err | head -8; }; }
expect_fast() { [ "$seconds" -lt 10 ] || fail "$what: took $seconds s"; }
expect_no_files() { [ -z "$(ls -A "$1" 2>/dev/null)" ] || fail "$what: left $(ls -A "$1" | head -3)"; }

# Ranks of this job, told by its folder.
ranks_alive() {
  count=0
  for entry in /proc/[0-9]*; do
    [ "$(readlink "$entry/cwd")" = "$folder" ] && [ "$(readlink "$entry/exe")" = "$program" ] && count=$((count + 1))
  done
  echo "$count"
}

# What must not depend on time: the metrics without the fields that do.
timeless() { sed 's/,"step_ms".*//' "$1"; }

finish() {
  [ "$failures" = 0 ] && echo "passed" && exit 0
  echo "$failures failures"
  exit 1
}
