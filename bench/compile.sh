#!/usr/bin/env bash
# Measures the compilation of a training program: with rill::compiled, with rill's headers and the run time in a separate
# file (RILL_SEPARATE), with rill's headers alone, and with libtorch if its headers are installed. Prints seconds, the
# compiler's peak memory, and the size of the stripped program.
#   bench/compile.sh [--libtorch FILE] [--build FOLDER] [PROGRAM...]
# FILE is the libtorch program (default: libtorch.cpp beside the peers' program). Each PROGRAM is a rill program (default:
# the same network, and the tour's program, which also reads files). FOLDER has librill.a (default: build). TORCH is the
# folder of an installed torch (default: the torch of PEERS_PYTHON), CXX and CXXFLAGS (-O2) set the compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

libtorch=../shared/peers/libtorch.cpp build=build
while [[ ${1-} == --* ]]; do
  case $1 in
    --libtorch) libtorch=$2 ;;
    --build) build=$2 ;;
    *) echo "compile.sh: unknown option $1; see the comment at its top" >&2 && exit 1 ;;
  esac
  shift 2
done
[ $# -gt 0 ] || set -- bench/compile/training.cpp examples/tour/training.cpp
cxx=${CXX:-g++}
read -ra flags <<<"-std=c++20 -ffp-contract=off ${CXXFLAGS:--O2}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# measure NAME SOURCE FLAG... -- LINK...: prints one line of the table.
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

# The separate file of the run time, compiled once for all programs.
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
  echo "the libtorch program also needs libraries of $(du -cm "$torch"/lib/libtorch{,_cpu}.so "$torch"/lib/libc10.so | tail -1 | cut -f1) MB"
fi
