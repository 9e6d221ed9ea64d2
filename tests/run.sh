#!/usr/bin/env bash
# Installs what is missing, builds rill and runs its whole test suite. Arguments go to ctest: tests/run.sh -R tensor
set -euo pipefail
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

configure release
cmake --build build -j"$(nproc)" </dev/null
ctest --test-dir build --output-on-failure -j2 "$@" </dev/null
