#!/usr/bin/env bash
# Runs the checks of .clang-tidy over files: the run time and a training program, which between them hold most of the
# headers, or those that are named: tests/tidy.sh tests/run/*.cpp
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- tests/bits/run_time.cpp examples/tour/training.cpp
# shellcheck disable=SC2016
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc)" bash -c '
  if found=$(clang-tidy-19 --quiet "$1" -- -std=c++20 -DRILL_SEPARATE=1 -Iinclude -Itests \
    -isystem /usr/include/eigen3 2>&1); then
    echo "$1: passed"
  else
    echo "$found"
    exit 1
  fi' tidy
