#!/usr/bin/env bash
# Tests rill on this machine's GPU, for whoever has one: operations, loops, threads, checkpoints and memory beside the
# host, and examples that must say on the GPU what they say on the host. It installs what is missing and builds first.
# It needs a driver for CUDA 12 or newer, and NVRTC (docs/guide/gpus.md). Where compute-sanitizer is installed, some
# tests run under it as well.
#
#   tests/gpu/run.sh                   all of it; ends with a summary, and with a code other than 0 if anything failed
#   tests/gpu/run.sh FILTER            only test_cuda's tests that FILTER names, as --gtest_filter has it
#   tests/gpu/run.sh --emulated [...]  tries this script where there is no GPU, on the emulated driver of tests/cuda
#
# What each part has printed stays in build*/gpu.
set -euo pipefail
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

emulated=
if [ "${1-}" = --emulated ]; then
  emulated=1
  shift
fi
filter=${1-}
tests=$build/tests/test_cuda

if [ -z "$emulated" ]; then python3 tests/gpu/card.py >/dev/null; fi
configure "$preset"
cmake --build --preset "$preset" -j"$(nproc)" --target test_cuda digits model_residual model_transformer </dev/null
if [ -n "$emulated" ]; then
  RILL_CUDA_DRIVER=$PWD/$build/tests/rill_emulated_cuda.so
  export RILL_CUDA_DRIVER RILL_NVRTC=$RILL_CUDA_DRIVER
fi
machine=$(python3 tests/gpu/card.py)
echo "rill: $machine"
# Tests that need the emulated driver are skipped, for they find none.
unset RILL_EMULATED_CUDA
export RILL_TEST_GPU=1 RILL_TEST_LIMIT=${RILL_TEST_LIMIT:-600} RILL_SOURCE_DIR=$PWD

logs=$build/gpu
rm -rf "$logs"
mkdir -p "$logs"
summary=() failed=0
# part NAME COMMAND...: runs a part and keeps what it prints.
part() {
  local name=$1 code=0 begin=$SECONDS word=passed
  shift
  echo "== $name"
  "$@" </dev/null 2>&1 | tee "$logs/$name.log" || code=$?
  if [ "$code" -ne 0 ]; then word=FAILED failed=1; fi
  summary+=("$word  $name ($((SECONDS - begin)) s)")
}
# without NAME WHY: notes a part that can't run here.
without() { summary+=("left out  $1: $2"); }
# finish: prints the summary, and ends.
finish() {
  echo "== $machine, rill at $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
  printf '%s\n' "${summary[@]}"
  exit "$failed"
}

part gpu tests/gpu/suites.py "$tests" gpu_sessions.have_a_gpu
if [ "$failed" -ne 0 ]; then finish; fi
part tests tests/gpu/suites.py "$tests" "${filter:-*}"
if [ -n "$filter" ]; then finish; fi
part examples tests/gpu/examples.py "$build" ${emulated:+--few}

# The sanitizers slow kernels down a hundred times: memory for one element type and sessions, but for tests of how much
# memory there is; races where threads of a block share memory.
declare -A some=()
some[memcheck]='gpu_*:*/float32:-*text*:gpu_memory_over_time.*'
some[racecheck]='*softmax_kernels.*_of_softmax/float32:*state_kernels.*/float32:*products_of.*_batches/float32'
some[racecheck]+=':*gpu_operations_of.reduce_over_several*/float32'
if [ -n "$emulated" ]; then
  without compute-sanitizer "the emulated driver checks each access itself"
elif ! command -v compute-sanitizer >/dev/null; then
  without compute-sanitizer "it is not installed, or its folder (/usr/local/cuda/bin) is not in PATH"
else
  export RILL_TEST_PATIENCE=20
  for tool in memcheck racecheck; do
    part "$tool" tests/gpu/suites.py "$tests" "${some[$tool]}" -- compute-sanitizer --tool "$tool" --error-exitcode 99
  done
fi
finish
