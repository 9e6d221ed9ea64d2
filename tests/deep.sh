#!/usr/bin/env bash
# May this be released? Runs what .ci/run leaves out, for hours on two cores: kernels for other processors, the
# same bits from every way to build, headers alone, with the standard library's checks, another locale's numbers, all
# ways to use the package, a second compiler's optimised build, fuzzing, processes that are killed, and the longest walks
# over inputs with sanitizers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/stages.sh
source tests/stages.sh
need clang-19 clang-format-19 libclang-rt-19-dev gdb

# Kernels for every kind of processor, the benchmarks for a moment, and what has the label `deep`.
every_processor() {
  find_oracle
  configure project "-DRILL_ORACLE_PYTHON=$oracle"
  cmake --build --preset project -j"$(nproc)"
  tests/ctest.py project -j"$(nproc)" --label-regex '^(deep|bench)$'
}
# The tests in a locale with a decimal comma and groups of three digits, as programs with windows set it.
german() {
  mkdir -p build/locale
  localedef -i de_DE -f UTF-8 build/locale/de_DE.UTF-8
  LOCPATH=$PWD/build/locale LC_ALL=de_DE.UTF-8 RILL_TEST_LOCALE=de_DE.UTF-8 tests/ctest.py project -j"$(nproc)" \
    --label-exclude 'tooling|must_not_compile|examples|deep|bench|docs'
}
# All tests without the library, with the checks of libstdc++'s debug mode. GoogleTest is compiled in that mode, too,
# because its functions take containers.
checked_headers() {
  local folder=$PWD/build-checked
  cmake -S /usr/src/googletest -B "$folder/googletest" -G Ninja -DCMAKE_CXX_FLAGS=-D_GLIBCXX_DEBUG -DBUILD_GMOCK=OFF \
    "-DCMAKE_INSTALL_PREFIX=$folder/installed"
  cmake --build "$folder/googletest" --target install
  build checked headers_alone
  local program failed=0
  for program in "$folder"/tests/test_*_headers; do
    "$program" --gtest_brief=1 || failed=1
  done
  return "$failed"
}
# One program without the library, the run time in a unit of its own.
headers_alone() {
  build project test_train_headers
  build/tests/test_train_headers --gtest_brief=1
}
# Of the tests that try each n-th input with the address sanitizer, all inputs.
all_inputs() {
  build asan tests/all
  RILL_TEST_ALL=1 tests/ctest.py asan -j"$(nproc)" --tests-regex '^(advisories|fuzz_replay|graph\.codec)\.'
}
# Bytes of each kind of file from a fuzzer, for a moment.
fuzz() {
  build asan fuzz
  # shellcheck disable=SC2016
  printf '%s\0' build-asan/tests/fuzz/* | xargs -0 -n 1 -P "$(nproc)" bash -c '
    "$1" -max_total_time=7 -rss_limit_mb=1024 -malloc_limit_mb=16 -max_len=4096 -seed=1 -print_final_stats=0 \
      -verbosity=0 -artifact_prefix=build-asan/fuzz- && echo "$1: passed"' fuzz
}
# The library as a second compiler optimises it: the numbers of operations and of training, by the tests that `all_inputs`
# has compiled. And the benches.
second_compiler() {
  build clang rill_compiled bench/all
  configure asan "-DRILL_OTHER_LIBRARY=$PWD/build-clang/librill.a"
  cmake --build --preset asan -j"$(nproc)" --target test_ops_other test_train_other
  tests/ctest.py asan -j"$(nproc)" --tests-regex '^other_library\.'
}
# spread_with_threads OVER PROGRAM...: test programs with their nodes spread, under the thread sanitizer, one on each
# processor. Some tests fork, and the child starts threads.
spread_with_threads() {
  local over=$1
  shift
  build tsan "$@"
  export TSAN_OPTIONS=allocator_may_return_null=1:die_after_fork=0
  printf '%s\n' "$@" | xargs -n 1 -P "$(nproc)" tests/spread.py build-tsan --over "$over" --seed 1 --limit 3600
}
# Threads of devices and of sessions that meet, in the tests that know nothing of devices.
threads_of_devices() {
  spread_with_threads devices test_train test_ops_threads test_run test_state
}
# What .ci/run leaves to fewer steps.
all_steps() {
  build tsan test_train
  RILL_TEST_ALL=1 tests/ctest.py tsan -j"$(nproc)" --label-regex '^train$'
}
# The tests of the run time with their nodes spread over three tasks.
threads_of_tasks() {
  spread_with_threads tasks test_run
}
# Processes that are killed, and ten minutes of steps in which nothing may grow: longer than CTest lets a test run.
lost_processes() {
  RILL_TEST_LIMIT=60 RILL_KILL_ROUNDS=50 RILL_SOAK_MINUTES=10 build/tests/test_net --gtest_brief=1 \
    --gtest_filter='killed.*'
}
# A tensor of more than 4 GiB over each kind of connection: takes 9 GiB of memory, of which the machine must have some more.
large_tensors() {
  local free
  free=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  if [ "$free" -lt 10 ]; then
    echo "skipped: the machine has $free GiB of free memory, and this takes 10"
    return
  fi
  RILL_TEST_ALL=1 build/tests/test_net --gtest_brief=1 --gtest_filter='*carry_tensors_of_more_than_4_gib*'
}

stage 'kernels for every processor, bits, headers, packages' every_processor
stage 'processes that are killed, and ten minutes of steps' lost_processes
stage 'tensors of more than 4 GiB' large_tensors
stage 'a locale with other numbers' german
stage 'headers alone' headers_alone
stage 'headers alone, checked' checked_headers
stage 'address sanitizer, all inputs' all_inputs
stage 'fuzzing' fuzz
stage 'clang' second_compiler
stage 'thread sanitizer, all steps' all_steps
stage 'thread sanitizer, over tasks' threads_of_tasks
stage 'thread sanitizer, over devices' threads_of_devices
report
