#!/usr/bin/env bash
# Times rill and its peers in the same minutes on the same threads, and writes a table of ratios to docs/measurements/.
#   bench/compare.sh [--peers FILE] [--rounds N] [--out FILE] [CASE...]      all cases, if none is named
# RILL_THREADS (default: every processor) goes to all; PEERS names peers ("torch compile jax tf1"), PEERS_PYTHON the
# python that has them, RILL_CASES the built program (build/bench/cases).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

peers=../shared/peers/peers.py rounds=3 out=docs/measurements/$(date +%F)-cpu.md
while [[ ${1-} == --* ]]; do
  case $1 in
    --peers) peers=$2 ;;
    --rounds) rounds=$2 ;;
    --out) out=$2 ;;
    *) echo "compare.sh: there is no option $1" >&2 && exit 1 ;;
  esac
  shift 2
done
cases=${RILL_CASES:-build/bench/cases}
[ -x "$cases" ] || { echo "compare.sh: $cases is not there: build it, or name it in RILL_CASES" >&2 && exit 1; }
[ -r "$peers" ] || { echo "compare.sh: no peers' program at $peers: name it by --peers" >&2 && exit 1; }
export RILL_THREADS=${RILL_THREADS:-$(nproc)}
export PEERS_PYTHON=${PEERS_PYTHON:-python3}
read -ra programs <<<"${PEERS:-torch compile jax tf1}"

# What is compared with each other runs within a minute or two: a group at a time, each program after the other.
groups=('null_wide null_chain add_chain run_call' 'while_loop while_loop_tagged while_loop_tagged_body queue' 'shuffle_batch' 'mlp_small mlp_small_matmuls' 'chain_1k chain_64k' 'chain_1m chain_16m'
  'matmul_64 matmul_256 matmul_1024' 'mlp_large' 'conv' 'lstm lstm_dynamic'
  'graph_9000 graph_18000 graph_36000 training_graph_9000 training_graph_18000 training_graph_36000'
  'memory_mlp_small memory_mlp_large memory_conv memory_lstm'
  'memory_while_gradient_10 memory_while_gradient_100 memory_while_gradient_1000')
# wanted CASE...: those of them that were asked for.
asked=" $* "
wanted() {
  local each
  for each in "$@"; do
    if [[ $asked == '  ' || $asked == *" $each "* ]]; then echo "$each"; fi
  done
}

lines=$(mktemp)
# one ROUND PROGRAM CASE...: its lines, each with the number of the round.
one() {
  local round=$1 program=$2
  shift 2
  if [ "$program" = rill ]; then "$cases" "$@"; else "$PEERS_PYTHON" "$peers" "$program" "$@" 2>/dev/null || true; fi |
    sed -n "s/^{/{\"round\": $round, /p" | tee -a "$lines"
}
loads=$(mktemp)  # what else the machine had to do
trap 'rm -f "$lines" "$loads"' EXIT
for ((round = 1; round <= rounds; ++round)); do
  for group in "${groups[@]}"; do
    mapfile -t members < <(wanted $group)
    [ ${#members[@]} -gt 0 ] || continue
    cut -d' ' -f1 /proc/loadavg >>"$loads"
    one "$round" rill "${members[@]}"
    [[ $group != *graph_* && $group != memory_* ]] || continue
    if [[ $group == shuffle_batch ]]; then  # whose peer is no program of the others'
      "$PEERS_PYTHON" bench/input_peer.py 2>/dev/null | sed -n "s/^{/{\"round\": $round, /p" | tee -a "$lines"
      continue
    fi
    for program in "${programs[@]}"; do one "$round" "$program" "${members[@]}"; done
  done
done
mkdir -p "$(dirname "$out")"
python3 bench/table.py "$lines" "$loads" >"$out"
echo "written: $out"
