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

# Two processes with parameters, three that train: each prints its lines. The former end when the latter have.
folder=$(mktemp -d)
export RILL_CLUSTER="ps=unix:$folder/ps0,unix:$folder/ps1 worker=unix:$folder/w0,unix:$folder/w1,unix:$folder/w2"
servers=() workers=() code=0
trap 'kill "${servers[@]}" "${workers[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
for i in 0 1; do
  RILL_TASK=ps:$i "$program" &
  servers+=($!)
done
for i in 0 1 2; do
  RILL_TASK=worker:$i "$program" "$@" &
  workers+=($!)
done
for process in "${workers[@]}"; do wait "$process" || code=$?; done
[ "$code" -eq 0 ] || kill "${servers[@]}" 2>/dev/null || true
for process in "${servers[@]}"; do wait "$process" || code=$?; done
exit "$code"
