#!/usr/bin/env bash
# Builds and tests rill with the compilers of other distributions, each in a tree that debootstrap makes. By hand, as root:
#
#   tests/compilers.sh                                Debian 13 and Ubuntu 24.04
#   tests/compilers.sh trixie                         one of them: trixie, noble, or bookworm
#   tests/compilers.sh noble -- examples/run.sh       another command than tests/run.sh
#
# DEBIAN_MIRROR and UBUNTU_MIRROR name other archives; TREES is the folder for the trees, which are kept (/var/tmp/rill).
# docs/compilers.md says what passed last.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suites=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  suites+=("$1")
  shift
done
[ $# -eq 0 ] || shift
[ ${#suites[@]} -gt 0 ] || suites=(trixie noble)
command=("${@:-tests/run.sh}")
trees=${TREES:-/var/tmp/rill}

if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
  echo "rill: tests/compilers.sh runs debootstrap and chroot: please install debootstrap, and run it as root" >&2
  exit 1
fi

# make_tree SUITE FOLDER: the distribution's smallest system. Where Debian has no script of a suite's name, that of all
# of Ubuntu does; where the suite's keys are missing, the packages are taken without their signatures, and it says so.
make_tree() {
  local suite=$1 folder=$2 mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian} components=main
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg script=()
  if [ "$suite" = noble ]; then
    mirror=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu} components=main,universe
    keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  fi
  if [ ! -e "/usr/share/debootstrap/scripts/$suite" ]; then
    script=("/usr/share/debootstrap/scripts/$([ "$suite" = noble ] && echo gutsy || echo sid)")
  fi
  local check=("--keyring=$keys")
  if [ ! -e "$keys" ]; then
    echo "rill: $keys is missing; signatures of $suite are not checked"
    check=(--no-check-gpg)
  fi
  mkdir -p "$folder"
  debootstrap --variant=minbase --include=ca-certificates --components="$components" "${check[@]}" \
    "$suite" "$folder" "$mirror" "${script[@]}" >"$folder.log" 2>&1 || {
    tail -n 20 "$folder.log" >&2
    return 1
  }
  touch "$folder/.made"
}

failed=()
for suite in "${suites[@]}"; do
  folder=$trees/$suite
  printf '\n== %s\n' "$suite"
  if [ ! -e "$folder/.made" ]; then
    rm -rf "$folder"
    make_tree "$suite" "$folder" || {
      failed+=("$suite")
      continue
    }
  fi
  mkdir -p "$folder/rill"
  git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T - |
    tar -C "$folder/rill" -xf -
  mountpoint -q "$folder/proc" || mount -t proc proc "$folder/proc"
  code=0
  # shellcheck disable=SC2016
  chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash -euc '
    cd /rill
    (. /etc/os-release && echo "$PRETTY_NAME")
    "$@" && g++ --version | head -n 1' compilers "${command[@]}" </dev/null || code=$?
  umount "$folder/proc"
  echo "== $suite: $([ "$code" -eq 0 ] && echo passed || echo FAILED)"
  [ "$code" -eq 0 ] || failed+=("$suite")
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
