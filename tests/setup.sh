# shellcheck shell=bash
# Sourced by tests/run.sh, examples/run.sh and .ci/run: installs what is missing, configures builds, and sets `preset` and
# `build` to the preset, and its folder, of a build whose kernels run here.
# Quiet when nothing is missing. CXX and CXXFLAGS are CMake's own.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# need PACKAGE...: installs the Debian or Ubuntu packages that are not there yet.
need() {
  local missing=() package
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    local command
    for command in cmake ninja python3 "${CXX:-c++}"; do
      command -v "$command" >/dev/null || missing+=("$command")
    done
    [ ${#missing[@]} -eq 0 ] && return
    echo "rill: not found: ${missing[*]}. This is not Debian or Ubuntu, so please install what these packages are" \
      "called here, then run this again: $*" >&2
    exit 1
  fi
  for package in "$@"; do
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
      echo "rill: missing packages, and no way to become root. Please run: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "rill: installing ${missing[*]}"
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2
    --no-install-recommends "${missing[@]}")
  local log
  log=$(mktemp)
  # The lists of packages may be stale or absent: fetch them only then.
  if ! "${install[@]}" </dev/null >"$log" 2>&1 &&
    ! { "${as_root[@]}" apt-get update --quiet=2 </dev/null && "${install[@]}" </dev/null; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "rill: could not install the packages above. Please install them by hand: ${missing[*]}" >&2
    exit 1
  fi
  rm -f "$log"
}

# configure PRESET [OPTION...]: a build as CMakePresets.json describes it.
# Through ccache, if it is there, so that what one clone of the project has compiled is not compiled again in another: with
# paths relative to the project. As a part of the launcher, which a `ninja` that is called by hand has, too.
configure() {
  local log launcher=
  if command -v ccache >/dev/null; then
    launcher="env;CCACHE_BASEDIR=$PWD;CCACHE_NOHASHDIR=1"
    launcher+=";CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;ccache"
  fi
  log=$(mktemp)
  if ! cmake --preset "$@" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" >"$log" 2>&1 </dev/null; then
    cat "$log" >&2
    echo "rill: CMake could not configure the preset $1" >&2
    exit 1
  fi
  rm -f "$log"
}

# Sets `oracle` to a Python that has the packages with which safetensors files are compared. Where they can't be had, CTest
# says that it skipped that.
find_oracle() {
  local folder=$PWD/build/python
  oracle=$folder/bin/python3
  "$oracle" -c 'import numpy, safetensors' 2>/dev/null && return
  { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --retries 1 numpy safetensors; } >/dev/null 2>&1 </dev/null ||
    oracle=python3
}

# A build whose kernels run here: those for AVX2 alone where the processor has it, a third of them all.
# shellcheck disable=SC2034
preset=release build=build
if grep -qw avx2 /proc/cpuinfo 2>/dev/null; then preset=work build=build-work; fi

need cmake ninja-build ccache g++ python3 pkgconf libgtest-dev libbenchmark-dev libeigen3-dev nlohmann-json3-dev zlib1g-dev \
  libcereal-dev libasio-dev libssl-dev openssl libprotozero-dev libpng-dev libjpeg-dev locales
