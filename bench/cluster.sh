#!/usr/bin/env bash
# Times steps over several processes, and then what moves bytes between processes here: raw sockets, TLS, Gloo, TensorFlow.
# Prints the ratios at the end (cluster_ratios.py).
#   bench/cluster.sh [--peers FILE] [CASE...]      without CASE: all cases of the program; `transfer scalar`: the ratios' own
# RILL_CLUSTER_BENCH is the built program (build/bench/bench_cluster), PEERS_PYTHON the python that has the peers. A peer
# that is not installed says so, and is left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

peers=../shared/peers/peers.py
if [[ ${1-} == --peers ]]; then
  peers=$2
  shift 2
fi
program=${RILL_CLUSTER_BENCH:-build/bench/bench_cluster}
[ -x "$program" ] || { echo "cluster.sh: found no program $program: build it, or set RILL_CLUSTER_BENCH" >&2 && exit 1; }
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
"$program" "$@" | tee "$lines"
if [ -r "$peers" ]; then
  "${PEERS_PYTHON:-python3}" "$peers" raw tcp unix tls gloo | tee -a "$lines"
  "${PEERS_PYTHON:-python3}" "$peers" tf1 transfer | tee -a "$lines" || true
  python3 bench/cluster_ratios.py "$lines"
else
  echo "cluster.sh: found no peers' program $peers: give --peers FILE" >&2
fi
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
