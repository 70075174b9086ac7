#!/bin/sh
# Runs the tests of one build and adds them up: tests/run.sh BUILD_DIRECTORY [PATTERN]
#
# Test programs (Check) are BUILD/tests/test_* and prop_*; each prints one closing line. Scripts are
# tests/cli/*.sh and tests/browser/*.sh: one test each, run in an empty directory, with $SNAPSIM the program and $ROOT the
# source; status 77 is "skipped", with the reason as its last line. The last line here is
# "N passed, N failed" (", N skipped" if there were any), and the status says whether all is well.
set -u
export LC_ALL=C
build=$1
pattern=${2-}
ROOT=$(cd "$(dirname "$0")/.." && pwd)
SNAPSIM=$(cd "$build" && pwd)/snapsim
SNAPSIM_SHARED=$(cd "$ROOT" && cd "${SNAPSIM_SHARED-../shared}" 2>/dev/null && pwd)
export ROOT SNAPSIM SNAPSIM_SHARED
passed=0 failed=0 skipped=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

run_program() {
    (cd "$ROOT" && "$1") >"$log" 2>&1
    status=$?
    counts=$(sed -n 's/^[0-9]*%: Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\)$/\1 \2 \3/p' "$log")
    # shellcheck disable=SC2086 # three numbers
    set -- "$1" $counts
    if [ $# -ne 4 ]; then
        failed=$((failed + 1))
        echo "FAILED $(basename "$1"): no closing line (status $status)"
        cat "$log"
        return
    fi
    bad=$(($3 + $4))
    [ "$bad" -gt 0 ] || [ "$status" -eq 0 ] || bad=1
    passed=$((passed + $2 - $3 - $4))
    failed=$((failed + bad))
    skips=$(grep -ci 'skipped' "$log")
    echo "$(basename "$1"): $2 checks, $bad failed$([ "$skips" -eq 0 ] || echo ", some skipped")"
    grep -i 'skipped' "$log" | head -n 3
    [ "$bad" -eq 0 ] || cat "$log"
}

run_script() {
    directory=$(mktemp -d)
    (cd "$directory" && sh "$1") >"$log" 2>&1
    status=$?
    rm -rf "$directory"
    case $status in
    0) passed=$((passed + 1)) ;;
    77)
        skipped=$((skipped + 1))
        echo "skipped $(basename "$1"): $(tail -n 1 "$log")"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAILED $(basename "$1") (status $status)"
        cat "$log"
        ;;
    esac
}

for program in "$build"/tests/test_* "$build"/tests/prop_*; do
    case $program in
    *.o | *.d | *"*"*) continue ;;
    *"$pattern"*) run_program "$program" ;;
    esac
done
for script in "$ROOT"/tests/cli/*.sh "$ROOT"/tests/browser/*.sh; do
    case $script in
    *"$pattern"*) run_script "$script" ;;
    esac
done
echo "$passed passed, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
[ "$failed" -eq 0 ]
