# Whose seed it is, as snapsim-sweep(5) says it: a generated load has its own where it gives one, and
# otherwise that of the cell; with recorded arrivals the cell's then changes nothing.
set -eu
. "$ROOT/tests/expect.sh"
# loads SWEEP EXPECTED: how many different loads, and different outcomes, three seeds make
loads() {
    printf '%s' "$1" >sweep.json
    "$SNAPSIM" sweep sweep.json >results.jsonl
    found="$(sed 's/.*"trace":{[^}]*"sha256":"\([0-9a-f]*\)".*/\1/' results.jsonl | sort -u | wc -l)"
    found="$found $(sed 's/.*},"digest":"\(0x[0-9a-f]*\)".*/\1/' results.jsonl | sort -u | wc -l)"
    [ "$found" = "$2" ] || fail "$1: $found, not $2"
}
loads '{"trace": {"conversations": 20}, "seed": [1, 2, 3]}' '3 3'
loads '{"trace": "generated:conversations=20", "seed": [1, 2, 3]}' '3 3'
loads '{"trace": {"conversations": 20, "seed": 1}, "seed": [1, 2, 3]}' '1 1'
loads '{"trace": "generated:conversations=20,seed=1", "seed": [1, 2, 3]}' '1 1'
loads '{"trace": {"conversations": 20, "seed": 1}, "arrival": "open:16", "seed": [1, 2, 3]}' '1 3'
loads '{"trace": {"conversations": 20}, "seed": [1, 2, 3], "placement": ["turn", "none"]}' '3 6'
# the load is the one that the command writes, and that a run makes
"$SNAPSIM" trace generate -o load.jsonl --conversations 20 --seed 2
digest=$("$SNAPSIM" run load.jsonl --format json | grep -F '"digest"')
for words in "generated:conversations=20 --seed 2" "generated:conversations=20,seed=2" \
    "generated:conversations=20,seed=2 --seed 7"; do
    # shellcheck disable=SC2086 # several words
    [ "$("$SNAPSIM" run $words --format json | grep -F '"digest"')" = "$digest" ] || fail "$words"
done
