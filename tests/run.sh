#!/usr/bin/env bash
# Installs what is missing, builds rill for this processor and tests what it does: about 45 minutes on two cores.
#
#   tests/run.sh                 what rill does
#   tests/run.sh -R tensor       arguments go to ctest
#   tests/run.sh --all           what tests the project itself as well, and does not take long: the programs in docs/, the
#                                format, a second compiler, a package. tests/deep.sh runs the rest
set -euo pipefail
# shellcheck source=tests/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

if [ "${1-}" != --all ]; then
  configure "$preset"
  cmake --build --preset "$preset" -j"$(nproc)" --target tests/all examples/all </dev/null
  exec ctest --preset "$preset" -j"$(nproc)" --progress --label-exclude bench "$@" </dev/null
fi
shift

find_oracle
configure "$preset" -DRILL_PROJECT_TESTS=ON "-DRILL_ORACLE_PYTHON=$oracle"
cmake --build --preset "$preset" -j"$(nproc)" --target tests/all examples/all </dev/null
exec tests/ctest.py "$preset" -j"$(nproc)" --label-exclude '^(deep|bench)$' "$@" </dev/null
