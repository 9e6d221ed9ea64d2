#!/usr/bin/env bash
# Installs what is missing, builds the example and trains a network on handwritten digits. Arguments go to the program:
# examples/run.sh --help
set -euo pipefail
caller=$PWD
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../tests/setup.sh"

configure release
cmake --build build --target digits -j"$(nproc)" </dev/null
root=$PWD
cd "$caller"
exec "$root/build/examples/digits" "$@"
