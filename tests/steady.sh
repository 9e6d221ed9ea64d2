#!/usr/bin/env bash
# Do the tests hold on an idle machine and on a loaded one? Looks for tests that depend on time, on load or on the order
# of threads. Hours on two cores; nothing else should run beside it: the tests in which threads meet, one at a time, five
# times, and then all tests of what rill does, 16 at a time, five times. Then the same with the thread sanitizer, where
# threads meet. `tests/steady.sh 1` does each once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
times=${1:-5}
# shellcheck source=tests/stages.sh
source tests/stages.sh
need clang-19 libclang-rt-19-dev gdb

# runs PRESET AT_ONCE ARGUMENT...: the tests so many times, with so many at once. One failure is a failure.
runs() {
  local preset=$1 at_once=$2 k
  shift 2
  for ((k = 1; k <= times; ++k)); do
    echo "run $k of $times, $at_once at a time"
    RILL_TEST_PATIENCE=$((1 + at_once / 4)) ctest --preset "$preset" -j"$at_once" --progress "$@" || return
  done
}

configure "$preset"
cmake --build --preset "$preset" -j"$(nproc)" --target tests/all
build tsan "${thread_programs[@]/#/test_}"
stage 'one at a time' runs "$preset" 1 --label-regex "$(labels "${thread_programs[@]}" faults)"
stage '16 at a time' runs "$preset" 16 --label-exclude 'tooling|must_not_compile|examples|bench|docs'
where_threads_meet=(--label-regex "$(labels "${thread_programs[@]}")" --exclude-regex '^fuzz_replay\.')
stage 'thread sanitizer, one at a time' runs tsan 1 "${where_threads_meet[@]}"
stage 'thread sanitizer, 16 at a time' runs tsan 16 "${where_threads_meet[@]}"
report
