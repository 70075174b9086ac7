# The grid that was asked for is the grid in force. One prompt of n tokens, sent twice: with states at
# multiples of B and at most n - 1 usable tokens, the second hits floor((n - 1) / B) * B.
set -eu
. "$ROOT/tests/expect.sh"
load() { # load N: a prompt of N tokens, twice
    for id in a b; do
        printf '{"id":"%s","block_size":1,"hash_id_scope":"global","start":0,"requests":[' $id
        printf '{"t":0,"in":%s,"out":0,"hash_runs":[[1,%s]]}]}\n' "$1" "$1"
    done >load.jsonl
}
number() { sed -n "s/.*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" found; }
is() { # is KEY EXPECTED
    [ "$(number "$1")" = "$2" ] || fail "$n tokens, $options: $1 $(number "$1"), not $2"
}
check() { # check N HIT GRID OPTION...
    n=$1 hit=$2 grid=$3
    shift 3
    options=$*
    load "$n"
    "$SNAPSIM" run load.jsonl "$@" --format json >found 2>said
    is hit_tokens "$hit"
    is snapshot_grid_tokens "$grid"
}
# blocks of vLLM, with and without the unit in which it matches: 528 is no multiple of 64
check 552 528 528 --placement fixed:528
check 552 528 528 --placement fixed:528 --match-unit 528
check 1710 1584 528 --placement fixed:528 --match-unit 528
check 1056 528 528 --placement fixed:528 --match-unit 528
check 1057 1056 528 --placement fixed:528
check 5000 4704 784 --placement fixed:784 --match-unit 784
check 5000 4848 1616 --placement fixed:1616 --match-unit 1616
check 5000 4192 2096 --placement fixed:2096 --match-unit 2096
[ ! -s said ] || fail "$(cat said)"
# a unit that divides the interval leaves it; one that does not moves positions down to itself:
# 784, 1568 and 2352 become 528, 1056 and 2112, all of them multiples of 528
check 2352 2352 784 --placement fixed:784 --match-unit 16 --min-compute-tokens 0
check 2360 2112 528 --placement fixed:784 --match-unit 528
grep -q 'hint: fixed:784: its snapshots are at multiples of 528 tokens (--match-unit 528)' said ||
    fail "$(cat said)"
# ends are moved to the unit, too; what is no end lies at it as well, unless it is below the chunk:
# then at 192, the least common multiple of 48 and 64
check 1000 528 0 --placement prompt-end --match-unit 528
is end_grain_tokens 528
is interior_grain_tokens 528
check 1000 960 0 --placement prompt-end --match-unit 48
is end_grain_tokens 48
is interior_grain_tokens 192
grep -q "the chunk of the model's kernels, 64 and --match-unit 48 have multiples of 192" said ||
    fail "$(cat said)"
# within a step there are states at the chunk only; no server makes steps below it
check 552 512 64 --placement fixed:16
grep -q 'hint: fixed:16: its snapshots are at multiples of 64 tokens' said || fail "$(cat said)"
check 552 544 16 --placement fixed:16 --snapshot-grain 16
[ ! -s said ] || fail "$(cat said)"
check 552 551 1 --placement fixed:1 --snapshot-grain 1
# an explicit grain is in the place of all rules; with a unit, only what they share is left
check 552 512 64 --placement fixed:528 --snapshot-grain 64
check 552 0 2112 --placement fixed:528 --snapshot-grain 64 --match-unit 528
grep -q 'hint: --snapshot-grain 64 and --match-unit 528 have multiples of 2112 tokens in common' said ||
    fail "$(cat said)"
grep -q 'hint: snapshots are at multiples of 2,112 tokens (--snapshot-grain 64, --match-unit 528), and the longest prompt has 552' said ||
    fail "$(cat said)"
# the table says it, too
"$SNAPSIM" run load.jsonl --placement fixed:528 --match-unit 264 >found
grep -q '^  fixed: at multiples of, tokens  *528$' found || fail "$(cat found)"
grep -q '^  ends: at multiples of, tokens  *264$' found || fail "$(cat found)"
