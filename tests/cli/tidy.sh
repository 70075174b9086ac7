# Style that a machine can check: see tests/tidy.sh.
cd "$ROOT" && git rev-parse >/dev/null 2>&1 || {
    echo "not a git checkout"
    exit 77
}
exec sh tests/tidy.sh
