# Style that a machine can check: see tests/tidy.sh.
set -eu
cd "$ROOT"
if ! git rev-parse >/dev/null 2>&1; then
    echo "not a git checkout"
    exit 77
fi
sh tests/tidy.sh
