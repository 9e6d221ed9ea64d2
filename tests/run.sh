#!/usr/bin/env bash
# Installs what is missing, builds rill for this processor and tests what it does; 10 minutes or so on two cores.
#
#   tests/run.sh                 what rill does
#   tests/run.sh -R tensor       arguments go to ctest
#   tests/run.sh --all           what tests the project itself as well: kernels for other processors, headers alone, a
#                                second compiler, the programs in docs/, the format, packages; as .ci/run does
set -euo pipefail
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

if [ "${1-}" != --all ]; then
  configure "$preset"
  cmake --build --preset "$preset" -j"$(nproc)" --target tests/all examples/all </dev/null
  exec ctest --preset "$preset" -j"$(nproc)" --progress --label-exclude bench "$@" </dev/null
fi
shift

# The Python package with which safetensors files are compared. Where it can't be had, CTest says that it skipped that.
oracle=build/python
if ! "$oracle/bin/python3" -c 'import numpy, safetensors' 2>/dev/null; then
  { python3 -m venv "$oracle" && "$oracle/bin/pip" install --quiet --retries 1 numpy safetensors; } >/dev/null 2>&1 </dev/null ||
    oracle=
fi

configure project "-DRILL_ORACLE_PYTHON=${oracle:+$PWD/$oracle/bin/}python3"
cmake --build --preset project -j"$(nproc)" </dev/null
ctest --preset project -j"$(nproc)" "$@" </dev/null
