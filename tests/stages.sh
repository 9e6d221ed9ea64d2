# shellcheck shell=bash
# Sourced by .ci/run and tests/deep.sh: stages, and those that both have. A stage that fails does not keep the next from
# running; each prints its time; `report` repeats what failed and counts the tests of all of them.

exec </dev/null
# shellcheck source=tests/setup.sh
source tests/setup.sh
passed=0 failed=0 failures=() unsteady=()

# stage NAME COMMAND...: runs a command and counts its tests; one that runs no tests counts as one.
stage() {
  local name=$1 begun=$SECONDS code log bad total line
  shift
  log=$(mktemp)
  printf '\n== %s\n' "$name"
  set +e
  (
    set -euo pipefail
    "$@"
  ) 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  set -e
  read -r bad total < <(sed -nE 's/.*tests passed, ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/p' "$log" | tail -n 1) ||
    bad='' total=''
  while read -r line; do unsteady+=("$line"); done < <(grep '^unsteady: ' "$log")
  [ "$code" -eq 0 ] ||
    failures+=("$name" "$(grep -E 'error:|FAILED|Failed|\*\*\*|SUMMARY|warning: Thread' "$log" | cut -c1-300 | tail -n 20)")
  rm -f "$log"
  if [ "$code" -eq 0 ]; then
    bad=0 # what failed at first has passed alone, and is unsteady
  elif [ "${bad:-0}" -eq 0 ]; then
    bad=1 total=$((${total:-0} + 1))
  fi
  passed=$((passed + ${total:-1} - bad)) failed=$((failed + bad))
  printf '== %s: %s after %d s\n' "$name" "$([ "$code" -eq 0 ] && echo passed || echo FAILED)" $((SECONDS - begun))
}

# report: the last lines. Returns whether all stages passed.
report() {
  printf '\n== all of it: %d s\n' "$SECONDS"
  [ ${#failures[@]} -eq 0 ] || printf '\nfailed: %s\n%s\n' "${failures[@]}"
  [ ${#unsteady[@]} -eq 0 ] || printf '%s\n' "${unsteady[@]}"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

# build PRESET TARGET...: configures a preset and builds targets of it.
build() {
  local preset=$1
  shift
  configure "$preset"
  cmake --build --preset "$preset" -j"$(nproc)" --target "$@"
}
# The programs of tests in which threads meet: of operations those that are no computations alone.
thread_programs=(base device state run net train ops_threads cuda)
# labels NAME...: the regular expression of tests that have one of these labels.
labels() {
  local IFS='|'
  echo "^($*)\$"
}
# Left out are mixtures of experts, which compute for long and say no more of threads than the rest of training, and tests
# that compare one kernel of a GPU after the other with the host's, for each element type.
threads() {
  build tsan "${thread_programs[@]/#/test_}"
  tests/ctest.py tsan -j"$(nproc)" --label-regex "$(labels "${thread_programs[@]}")" \
    --exclude-regex '^(fuzz_replay\.|train\.mixture_of_experts\.|cuda\.(each_type|each_size|part)/)'
}
# All tests by a second compiler, with checks in them. What tests the project itself is left out, and so are the programs
# in docs/ and examples/: they call what the tests do.
sanitizers() {
  build asan tests/all
  tests/ctest.py asan -j"$(nproc)" --label-exclude 'tooling|must_not_compile|examples'
}
