# What another memory strategy would change: a result's config with one setting changed is the run
# that says all of it on the command line. The size of a page is the strategy's own, unless asked for.
set -eu
. "$ROOT/tests/expect.sh"
run() { "$SNAPSIM" run generated:conversations=20,seed=3 --format json "$@"; }
digest() { sed -n 's/.*"digest":.*"\(0x[0-9a-f]*\)".*/\1/p' "$1"; }
setting="--tp 8 --capacity 4GiB --slots-per-request 1"
for from in ideal equal lcm; do
    # shellcheck disable=SC2086 # several words
    run $setting --memory $from >from.json
    for to in ideal static equal max gcd lcm two-ended elastic; do
        run --config from.json --memory $to >changed.json
        # shellcheck disable=SC2086
        run $setting --memory $to >direct.json
        cmp changed.json direct.json || fail "$from, then $to"
        [ -n "$(digest direct.json)" ] || fail "no digest"
    done
done
# shellcheck disable=SC2086
run $setting --memory equal --page-tokens 64 >from.json
run --config from.json --memory max >changed.json
grep -q '"page-tokens":.*"64"' changed.json || fail "what was asked for is forgotten"
fails 2 "--per-request and --timeline: two files were expected, found 'x'" \
    run --per-request x --timeline x
