#!/usr/bin/env bash
# Times rill and its peers alternately on the same number of threads, and writes a table of ratios to docs/measurements/.
#   bench/compare.sh [--peers FILE] [--rounds N] [--out FILE] [CASE...]      without CASE: all cases
# RILL_THREADS (default: one per processor) applies to all programs. PEERS lists the peers ("torch compile jax tf1"),
# PEERS_PYTHON is the python that has them, RILL_CASES the built program (build/bench/cases).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

peers=../shared/peers/peers.py rounds=3 out=docs/measurements/$(date +%F)-cpu.md
while [[ ${1-} == --* ]]; do
  case $1 in
    --peers) peers=$2 ;;
    --rounds) rounds=$2 ;;
    --out) out=$2 ;;
    *) echo "compare.sh: unknown option $1; see the comment at its top" >&2 && exit 1 ;;
  esac
  shift 2
done
cases=${RILL_CASES:-build/bench/cases}
[ -x "$cases" ] || { echo "compare.sh: found no program $cases: build it, or set RILL_CASES" >&2 && exit 1; }
[ -r "$peers" ] || { echo "compare.sh: found no peers' program $peers: give --peers FILE" >&2 && exit 1; }
export RILL_THREADS=${RILL_THREADS:-$(nproc)}
export PEERS_PYTHON=${PEERS_PYTHON:-python3}
read -ra programs <<<"${PEERS:-torch compile jax tf1}"

# Compared cases run within a minute or two: one group after the other, and within a group one program after the other.
groups=('null_wide null_chain add_chain run_call' 'while_loop while_loop_tagged while_loop_tagged_body queue' 'shuffle_batch' 'mlp_small mlp_small_matmuls' 'chain_1k chain_64k' 'chain_1m chain_16m'
  'matmul_64 matmul_256 matmul_1024' 'mlp_large' 'conv' 'lstm lstm_dynamic'
  'graph_9000 graph_18000 graph_36000 training_graph_9000 training_graph_18000 training_graph_36000'
  'memory_mlp_small memory_mlp_large memory_conv memory_lstm'
  'memory_while_gradient_10 memory_while_gradient_100 memory_while_gradient_1000')
# wanted CASE...: prints the cases that the command line asks for.
asked=" $* "
wanted() {
  local each
  for each in "$@"; do
    if [[ $asked == '  ' || $asked == *" $each "* ]]; then echo "$each"; fi
  done
}

lines=$(mktemp)
# one ROUND PROGRAM CASE...: runs a program and adds the number of the round to its lines.
one() {
  local round=$1 program=$2
  shift 2
  if [ "$program" = rill ]; then "$cases" "$@"; else "$PEERS_PYTHON" "$peers" "$program" "$@" 2>/dev/null || true; fi |
    sed -n "s/^{/{\"round\": $round, /p" | tee -a "$lines"
}
loads=$(mktemp)  # the machine's load averages
trap 'rm -f "$lines" "$loads"' EXIT
for ((round = 1; round <= rounds; ++round)); do
  for group in "${groups[@]}"; do
    mapfile -t members < <(wanted $group)
    [ ${#members[@]} -gt 0 ] || continue
    cut -d' ' -f1 /proc/loadavg >>"$loads"
    one "$round" rill "${members[@]}"
    [[ $group != *graph_* && $group != memory_* ]] || continue
    if [[ $group == shuffle_batch ]]; then  # its peer is tf.data, in a program of its own
      "$PEERS_PYTHON" bench/input_peer.py 2>/dev/null | sed -n "s/^{/{\"round\": $round, /p" | tee -a "$lines"
      continue
    fi
    for program in "${programs[@]}"; do one "$round" "$program" "${members[@]}"; done
  done
done
mkdir -p "$(dirname "$out")"
python3 bench/table.py "$lines" "$loads" >"$out"
echo "written: $out"
