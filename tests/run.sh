#!/usr/bin/env bash
# Installs what is missing, builds rill and runs its whole test suite. Arguments go to ctest: tests/run.sh -R tensor
set -euo pipefail
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# The Python package with which safetensors files are compared. Where it can't be had, CTest says that it skipped that.
oracle=build/python
if ! "$oracle/bin/python3" -c 'import numpy, safetensors' 2>/dev/null; then
  { python3 -m venv "$oracle" && "$oracle/bin/pip" install --quiet --retries 1 numpy safetensors; } >/dev/null 2>&1 </dev/null ||
    oracle=
fi

configure release "-DRILL_ORACLE_PYTHON=${oracle:+$PWD/$oracle/bin/}python3"
cmake --build build -j"$(nproc)" </dev/null
ctest --test-dir build --output-on-failure -j2 "$@" </dev/null
