#!/usr/bin/env bash
# What it costs to compile a training program: with rill::compiled, with rill's headers and the run time in another file of
# the program (RILL_SEPARATE), with rill's headers alone, and with libtorch where its headers are. Prints seconds, the
# compiler's peak memory, and the size of the stripped program.
#   bench/compile.sh [--libtorch FILE] [--build FOLDER] [PROGRAM...]
# FILE is the program in libtorch (default: libtorch.cpp beside the peers' program), each PROGRAM one of rill's (default:
# the same network, and the tour's, which reads and writes files too); FOLDER holds librill.a (default: build). TORCH names
# the folder of an installed torch (default: that of PEERS_PYTHON's), CXX and CXXFLAGS (-O2) the compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

libtorch=../shared/peers/libtorch.cpp build=build
while [[ ${1-} == --* ]]; do
  case $1 in
    --libtorch) libtorch=$2 ;;
    --build) build=$2 ;;
    *) echo "compile.sh: there is no option $1" >&2 && exit 1 ;;
  esac
  shift 2
done
[ $# -gt 0 ] || set -- bench/compile/training.cpp examples/tour/training.cpp
cxx=${CXX:-g++}
read -ra flags <<<"-std=c++20 -ffp-contract=off ${CXXFLAGS:--O2}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# measure NAME SOURCE FLAG... -- LINK...: one line of the table.
measure() {
  local name=$1 source=$2 compile=() link=()
  shift 2
  while [ "$1" != -- ]; do compile+=("$1") && shift; done
  shift
  link=("$@")
  python3 - "$name $source" "$scratch/$name" "$cxx" "${flags[@]}" "${compile[@]}" -c "$source" -o "$scratch/$name.o" -- \
    "$cxx" "$scratch/$name.o" -o "$scratch/$name" "${link[@]}" <<'PYTHON'
import os, resource, subprocess, sys, time
label, program, *rest = sys.argv[1:]
at = rest.index("--")
begin = time.perf_counter()
subprocess.run(rest[:at], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds, memory = time.perf_counter() - begin, used.ru_maxrss / 1024
subprocess.run(rest[at + 1:], check=True)
subprocess.run(["strip", program], check=True)
print(f"{label:40} {seconds:7.1f} s  {used.ru_utime + used.ru_stime:7.1f} s  {memory:8,.0f} MB  {os.path.getsize(program) / 1e6:8.1f} MB", flush=True)
PYTHON
}

# The other file of a program whose run time is separate, compiled once for all of them.
separate=(-Iinclude -fno-math-errno -DRILL_SEPARATE=1)
"$cxx" "${flags[@]}" "${separate[@]}" -c tests/bits/run_time.cpp -o "$scratch/run_time.o"

echo "                                          elapsed  processor      memory     program"
for program in "$@"; do
  [ ! -r "$build/librill.a" ] ||
    measure compiled "$program" -Iinclude -DRILL_COMPILED=1 -DRILL_COMPILED_IO=1 -- "$build/librill.a" -lz -pthread
  measure separate "$program" "${separate[@]}" -- "$scratch/run_time.o" -lz -pthread
  measure headers "$program" -Iinclude -fno-math-errno -- -lz -pthread
done

torch=${TORCH:-$("${PEERS_PYTHON:-python3}" -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))' 2>/dev/null || true)}
if [ -r "$libtorch" ] && [ -d "$torch/include/torch" ]; then
  measure libtorch "$libtorch" "-I$torch/include" "-I$torch/include/torch/csrc/api/include" -- \
    "-L$torch/lib" -ltorch -ltorch_cpu -lc10 "-Wl,-rpath,$torch/lib"
  echo "libtorch's program needs libraries of $(du -cm "$torch"/lib/libtorch{,_cpu}.so "$torch"/lib/libc10.so | tail -1 | cut -f1) MB beside it"
fi
