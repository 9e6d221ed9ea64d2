#!/usr/bin/env bash
# Installs what is missing, builds an example and runs it: a network that learns handwritten digits, or, as
# `examples/run.sh shakespeare`, one that learns to write. Further arguments go to the program: examples/run.sh --help
set -euo pipefail
caller=$PWD
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tests/setup.sh"

example=digits
if [[ ${1-} == shakespeare || ${1-} == digits ]]; then
  example=$1
  shift
fi
configure release
cmake --build build --target "$example" -j"$(nproc)" </dev/null
root=$PWD
cd "$caller"
exec "$root/build/examples/$example" "$@"
