#!/usr/bin/env bash
# Times rill's networks, chains and products on this machine's GPU, alternately with PyTorch and JAX on it, and writes a
# table and its lines (JSON) to docs/measurements/; then runs the programs of bench/gpu. It installs what is missing and
# builds first. It needs what tests/gpu/run.sh needs, which should pass before anybody looks at times.
#
#   bench/gpu/run.sh [--rounds N] [--out FILE] [CASE...]    without CASE: all cases that are for GPUs
#   bench/gpu/run.sh --programs                             only the programs of bench/gpu, which need CUDA's toolkit
#   bench/gpu/run.sh --emulated [...]                       tries this script where there is no GPU: rill on the emulated
#                                                           driver of tests/cuda, peers on the host. Its times say nothing
#
# PEERS lists the peers ("torch compile jax"): those that PEERS_PYTHON (python3) hasn't, or for which it finds no GPU, are
# left out.
set -euo pipefail
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../../tests/setup.sh"

emulated='' programs='' rounds=3 out=
while [[ ${1-} == --* ]]; do
  case $1 in
    --emulated) emulated=1 ;;
    --programs) programs=1 ;;
    --rounds) rounds=$2 && shift ;;
    --out) out=$2 && shift ;;
    *) echo "bench/gpu/run.sh: unknown option $1; see the comment at its top" >&2 && exit 1 ;;
  esac
  shift
done
export PEERS_PYTHON=${PEERS_PYTHON:-python3} PEERS_DEVICE=cuda RILL_DEVICE=gpu
read -ra peers <<<"${PEERS:-torch compile jax}"
cases=(mlp_small mlp_large conv lstm resnet attention vae chain_1k chain_64k chain_1m chain_16m matmul_64 matmul_256
  matmul_1024)
if [ $# -gt 0 ]; then cases=("$@"); fi
if [ -z "$out" ]; then
  out=docs/measurements/$(date +%F)-gpu-peers.md
  if [ -n "$emulated" ]; then out=$build/gpu-peers.md; fi
fi

if [ -z "$emulated" ]; then python3 tests/gpu/card.py >/dev/null; fi
targets=(cases)
if [ -n "$emulated" ]; then
  targets+=(rill_emulated_cuda)
  PEERS_DEVICE=cpu
  RILL_CUDA_DRIVER=$PWD/$build/tests/rill_emulated_cuda.so
  export RILL_CUDA_DRIVER RILL_NVRTC=$RILL_CUDA_DRIVER
fi
configure "$preset"
cmake --build --preset "$preset" -j"$(nproc)" --target "${targets[@]}" </dev/null
machine=$(python3 tests/gpu/card.py)
echo "rill: $machine"

# compare: the table.
compare() {
  local lines loads program here=() case round
  lines=$(mktemp) loads=$(mktemp)
  for program in "${peers[@]}"; do
    if "$PEERS_PYTHON" bench/gpu/peers.py "$program" --device "$PEERS_DEVICE" --check; then here+=("$program"); fi
  done
  # The programs time a case one after the other, so that the same state of the machine is behind all of its figures.
  for ((round = 1; round <= rounds; ++round)); do
    for case in "${cases[@]}"; do
      cut -d' ' -f1 /proc/loadavg >>"$loads"
      {
        "$build/bench/cases" "$case" || echo "{\"case\": \"$case\", \"error\": \"rill ended with $?\"}"
        for program in "${here[@]}"; do
          "$PEERS_PYTHON" bench/gpu/peers.py "$program" --device "$PEERS_DEVICE" "$case" 2>/dev/null ||
            echo "{\"case\": \"$case\", \"error\": \"$program ended with $?\"}"
        done
      } | sed -n "s/^{/{\"round\": $round, /p" | tee -a "$lines"
    done
  done
  mkdir -p "$(dirname "$out")"
  python3 bench/gpu/table.py "$lines" "$loads" "$machine" >"$out"
  cp "$lines" "${out%.md}.jsonl"
  rm -f "$lines" "$loads"
  echo "written: $out, ${out%.md}.jsonl"
}

# measure: the programs of bench/gpu, where they can be built. What they print stays in build-gpu.
measure() {
  local subjects=(elementwise rows products steps memory compile) subject options log
  if [ -n "$emulated" ]; then
    echo "rill: the programs of bench/gpu are left out: they need a GPU"
    return
  fi
  if ! log=$(cmake -S . -B build-gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DRILL_GPU_BENCHMARKS=ON -DRILL_TESTS=OFF \
    -DRILL_BENCHMARKS=OFF -DRILL_EXAMPLES=OFF 2>&1 </dev/null); then
    echo "rill: the programs of bench/gpu are left out: CMake finds no toolkit of CUDA 13 (build-gpu has its log)"
    mkdir -p build-gpu
    echo "$log" >build-gpu/configure.log
    return
  fi
  cmake --build build-gpu -j"$(nproc)" --target "${subjects[@]/#/gpu_}" </dev/null
  for subject in "${subjects[@]}"; do
    echo "== $subject"
    options=()
    if [ "$subject" = elementwise ]; then options=(--share 63); fi
    "build-gpu/bench/gpu/gpu_$subject" "${options[@]}" | tee "build-gpu/$subject.txt"
  done
}

if [ -z "$programs" ]; then compare; fi
if [ $# -eq 0 ]; then measure; fi
