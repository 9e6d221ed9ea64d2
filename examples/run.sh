#!/usr/bin/env bash
# Installs missing packages, builds an example and runs it: a network that learns handwritten digits, or, with
# `examples/run.sh shakespeare`, a network that learns to write. Passes further arguments on: examples/run.sh --help
set -euo pipefail
caller=$PWD
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tests/setup.sh"

example=digits
if [[ ${1-} == shakespeare || ${1-} == digits ]]; then
  example=$1
  shift
fi
configure "$preset"
cmake --build --preset "$preset" --target "$example" -j"$(nproc)" </dev/null
root=$PWD
cd "$caller"
exec "$root/$build/examples/$example" "$@"
