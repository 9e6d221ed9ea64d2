#!/usr/bin/env bash
# Times steps over a link of 1 Gbit/s between two network namespaces, with gradients as they are and truncated to 16 bits.
# Needs root, and iproute2.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${RILL_CLUSTER_BENCH:-build/bench/bench_cluster}
[ -x "$program" ] || { echo "slow_link.sh: found no program $program: build it, or set RILL_CLUSTER_BENCH" >&2 && exit 1; }
first=rill-a-$$ second=rill-b-$$
trap 'kill %1 2>/dev/null || true; ip netns delete "$first" 2>/dev/null || true; ip netns delete "$second" 2>/dev/null || true' EXIT
ip netns add "$first"
ip netns add "$second"
ip link add rill-a netns "$first" type veth peer name rill-b netns "$second"
for end in "$first a 1" "$second b 2"; do
  read -r space name number <<<"$end"
  ip -n "$space" address add "10.203.7.$number/30" dev "rill-$name"
  ip -n "$space" link set "rill-$name" up
  ip -n "$space" link set lo up
  ip netns exec "$space" tc qdisc add dev "rill-$name" root tbf rate 1gbit burst 256kb latency 50ms
done
export RILL_CLUSTER=worker=10.203.7.1:7700,10.203.7.2:7700
RILL_TASK=worker:0 ip netns exec "$first" "$program" slow_link &
RILL_TASK=worker:1 ip netns exec "$second" "$program" slow_link
