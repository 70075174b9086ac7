#!/bin/sh
# Installs what snapsim needs and this machine lacks, by package name (Debian, Ubuntu).
#
#   setup.sh          to build, test and draw
#   setup.sh ci       also what .ci/run needs: clang, its sanitizers, a browser, Slurm
#
# Does nothing when all is there, asks nothing, and where it may not install prints the command.
set -eu

packages="gcc g++ libc6-dev pkg-config libzstd-dev libcjson-dev libssl-dev check libsubunit-dev \
gnuplot-nox zstd"
if [ "${1-}" = ci ]; then
    packages="$packages clang libclang-rt-dev groff-base mandoc"
    packages="$packages munge slurmctld slurmd slurm-client" # tests/cli/slurm.sh
    packages="$packages chromium" # tests/browser
fi

is_there() {
    dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null | grep -q 'ok installed'
}

# A few packages have other names on other releases: the first that is known is taken.
known_name() {
    case $1 in
    libclang-rt-dev)
        version=$(clang --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -n 1)
        [ -n "$version" ] || version=$(apt-cache depends clang 2>/dev/null |
            sed -n 's/.*clang-\([0-9]*\)$/\1/p' | head -n 1)
        echo "libclang-rt-$version-dev"
        ;;
    *) echo "$1" ;;
    esac
}

if ! command -v dpkg-query >/dev/null; then
    echo "snapsim: set-up knows Debian and Ubuntu only; please install by your own means:" >&2
    echo "  $packages" >&2
    exit 1
fi

missing=""
for package in $packages; do
    name=$(known_name "$package")
    is_there "$name" || missing="$missing $name"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root="sudo -n"
    else
        echo "snapsim: these packages are missing; please run:" >&2
        echo "  sudo apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
fi

echo "snapsim: installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # names are to be split
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
