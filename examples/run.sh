#!/usr/bin/env bash
# Installs missing packages, builds an example and runs it: a network that learns handwritten digits, or, with
# `examples/run.sh shakespeare`, a network that learns to write, or, with `examples/run.sh cluster`, digits again, learnt by
# five processes of this machine, or one of examples/models/: `examples/run.sh vae`. Passes further arguments on:
# examples/run.sh --help
set -euo pipefail
caller=$PWD
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tests/setup.sh"

example=digits
if [[ ${1-} == shakespeare || ${1-} == digits || ${1-} == cluster ]]; then
  example=$1
  shift
elif [[ -n ${1-} && -f examples/models/$1.cpp ]]; then
  example=model_$1
  shift
fi
configure "$preset"
cmake --build --preset "$preset" --target "$example" -j"$(nproc)" </dev/null
root=$PWD
[[ $example == model_* ]] || cd "$caller"  # those read examples/data
program=$root/$build/examples/$example
[ "$example" = cluster ] || exec "$program" "$@"

# Two processes with parameters, three that train: each prints its lines. The former end when the latter have. With --kill
# one of them is killed now and then, and whatever ends with an error is started again.
kills=no words=()
for word in "$@"; do
  if [ "$word" = --kill ]; then kills=yes; else words+=("$word"); fi
done
folder=$(mktemp -d)
export RILL_CLUSTER="ps=unix:$folder/ps0,unix:$folder/ps1 worker=unix:$folder/w0,unix:$folder/w1,unix:$folder/w2"
servers=() workers=() code=0
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

# Runs one of the processes, and starts it again for as long as it is killed or says that it is to be started again (75).
run() {
  local task=$1 code=0 process=
  shift
  trap 'kill "$process" 2>/dev/null || true; wait; exit 143' TERM
  while :; do
    RILL_TASK=$task "$program" "$@" &
    process=$!
    echo "$process" >"$folder/$task"
    code=0
    wait "$process" || code=$?
    [ "$kills" = yes ] && { [ "$code" -eq 75 ] || [ "$code" -gt 128 ]; } || return "$code"
    echo "$task: has ended with status $code, and starts again"
  done
}
[ "$kills" = no ] || words=(--epochs 100 --checkpoints "$folder/checkpoints" "${words[@]}")
for i in 0 1; do
  run "ps:$i" &
  servers+=($!)
done
for i in 0 1 2; do
  run "worker:$i" "${words[@]}" &
  workers+=($!)
done
if [ "$kills" = yes ]; then
  for task in worker:1 ps:0 worker:0 ps:1; do # worker:0 is the chief
    sleep 2
    echo "$task: is killed"
    kill -KILL "$(cat "$folder/$task")" 2>/dev/null || true
  done
fi
for process in "${workers[@]}"; do wait "$process" || code=$?; done
[ "$code" -eq 0 ] && [ "$kills" = no ] || kill "${servers[@]}" 2>/dev/null || true
for process in "${servers[@]}"; do wait "$process" || [ "$kills" = yes ] || code=$?; done
exit "$code"
