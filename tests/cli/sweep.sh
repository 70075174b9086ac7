# A sweep gives the same bytes for any number of threads, in parts, and after being killed.
set -eu
cat >sweep.json <<'END'
{"name": "test", "trace": {"conversations": 30},
 "placement": ["none", "prompt-end", "turn", "turn+fixed:4096"],
 "eviction": ["lru", "fifo"],
 "capacity": {"from": "16GiB", "to": "1TiB", "factor": 2},
 "exclude": [{"placement": "none", "eviction": "fifo"}],
 "cells": [{"label": "limit", "placement": "turn", "capacity": "unlimited"}]}
END
"$SNAPSIM" sweep sweep.json >one.jsonl
[ "$(wc -l <one.jsonl)" = 50 ] # 4 * 2 * 7 - 7 + 1
"$SNAPSIM" sweep sweep.json -j 4 --output out
cmp one.jsonl out/results.jsonl
"$SNAPSIM" sweep sweep.json -j2 --output packed.jsonl.zst
zstd -dc packed.jsonl.zst | cmp - one.jsonl
for part in 1 2 3; do
    "$SNAPSIM" sweep sweep.json --shard $part/3 --output part-$part
done
"$SNAPSIM" merge part-2 part-3 part-1 | cmp - one.jsonl
if "$SNAPSIM" merge part-1 part-2 2>message; then
    exit 1
fi
grep -q '17 of 50 cells are missing' message || grep -q 'cells are missing' message
merge_fails() { # words that stderr must hold, then parts
    words=$1
    shift
    if "$SNAPSIM" merge "$@" >merged 2>message || ! grep -qF -- "$words" message; then
        cat message
        exit 1
    fi
}
sed 's/"cells":50/"cells":9007199254740991/' part-1/results.jsonl >many.jsonl
merge_fails 'many.jsonl:1: at most 10000000 cells were expected' many.jsonl
sed 's/"version":"[^"]*"/"version":"0.0"/' part-2/results.jsonl >older.jsonl
merge_fails 'older.jsonl:1: a result of snapsim' part-1 older.jsonl part-3
# a cell that failed is told by its error, not by what a name may hold
printf '{"name": "\\"error\\":", "trace": {"conversations": 3}}' >named.json
"$SNAPSIM" sweep named.json --output named.jsonl
"$SNAPSIM" merge named.jsonl | cmp - named.jsonl
# what is there is not overwritten unasked
if "$SNAPSIM" sweep sweep.json --output out 2>message; then
    exit 1
fi
grep -q -- '--resume goes on with it, --force starts anew' message
"$SNAPSIM" sweep sweep.json --output out --resume 2>message
grep -q complete message
sed 's/"lru", "fifo"/"lru", "lfu"/' sweep.json >other.json
if "$SNAPSIM" sweep other.json --output out --resume 2>message; then
    exit 1
fi
grep -q 'is of another sweep; --force starts anew' message
# a cell that fails is recorded and does not stop the rest
printf '{"trace": [{"conversations": 3}, "missing.jsonl"], "placement": ["turn", "none"]}' >bad.json
if "$SNAPSIM" sweep bad.json >bad.jsonl 2>message; then
    exit 1
fi
grep -q '2 of 4 cells failed' message
[ "$(grep -c '"error"' bad.jsonl)" = 2 ] && [ "$(grep -c '"hit_ratio"' bad.jsonl)" = 2 ]
# --dry-run lists the cells and runs nothing to disk
"$SNAPSIM" sweep sweep.json --dry-run --output not-made >cells
[ ! -e not-made ]
[ "$(wc -l <cells)" = 51 ] && grep -q '^49 label=limit' cells
# it times a few cells that are spread over all of them, each once
samples() { # samples CONFIG EXPECTED [OPTION...]
    printf '{"trace": {"conversations": 3}, "min-compute-tokens": %s}' "$1" >few.json
    expected=$2
    shift 2
    "$SNAPSIM" sweep few.json --dry-run "$@" | tail -n 1 >estimate
    if ! grep -q "^$expected took [0-9.]* s" estimate; then
        echo "$expected was expected, found $(cat estimate)"
        exit 1
    fi
}
samples 2 '1 cells; cell 0'
samples '[2, 3]' '2 cells; cells 0 and 1'
samples '[2, 3, 4, 5]' '4 cells; cells 0, 1, 2 and 3'
samples '{"from": 1, "to": 100, "step": 1}' '100 cells; cells 10, 30, 50, 70 and 90'
samples '{"from": 1, "to": 100, "step": 1}' '20 cells; cells 13, 33, 53, 73 and 93' --shard 4/5
# an exclusion of a trace that no cell has excludes nothing and is no trace of the sweep
printf '{"trace": {"conversations": 3}, "exclude": [{"trace": "not-there.jsonl"}]}' >exclude.json
"$SNAPSIM" sweep exclude.json --dry-run >cells
head -n 1 cells | grep -vq trace=
[ "$(wc -l <cells)" = 2 ]
# a range ends where it says, exactly for all whole numbers up to 2^53
range() { # range SETTING RANGE VALUE...: the values that the range stands for
    setting=$1
    printf '{"trace": {"conversations": 3, "seed": 1}, "%s": {%s}}' "$setting" "$2" >range.json
    shift 2
    found=$("$SNAPSIM" sweep range.json --dry-run | sed -n "s/^[0-9].* $setting=//p" | tr '\n' ' ')
    if [ "$found" != "$* " ]; then
        echo "$(cat range.json): $* was expected, found $(printf %.200s "$found")"
        exit 1
    fi
}
range seed '"from": 1000000000000, "to": 1000000000002, "step": 1' \
    1000000000000 1000000000001 1000000000002
range seed '"from": 9007199254740989, "to": 9007199254740992, "step": 1' \
    9007199254740989 9007199254740990 9007199254740991 9007199254740992
range seed '"from": 2, "to": 7, "step": 2' 2 4 6
range seed '"from": 5, "to": 6, "step": 0.1' 5 5 5 5 5 6 6 6 6 6 6
range capacity '"from": "10GiB", "to": "10737418242B", "step": "1B"' 10GiB 10737418241B 10737418242B
range capacity '"from": "10GiB", "to": "21474835480B", "step": "10GiB"' 10GiB # 20 GiB - 1000
range capacity '"from": "1000000000000B", "to": "1000000000999B", "factor": 1.0000000005' \
    976562500KiB 1000000000500B
range capacity '"from": "8GiB", "to": "32GiB", "factor": 1.4142135623730951' \
    8GiB 12148002000B 16GiB 24296004000B 32GiB
# what is excluded is compared as it is understood, be it a value, a list or a range
excluded() { # excluded RULES EXPECTED: the cells that are left
    printf '{"trace": [{"conversations": 3}, {"conversations": 4}], "capacity": ["1GiB", "2GiB"],
        "placement": ["turn", "none"], "exclude": [%s]}' "$1" >exclude.json
    found=$("$SNAPSIM" sweep exclude.json --dry-run | grep -c '^[0-9]* trace')
    if [ "$found" != "$2" ]; then
        echo "exclude $1: $2 cells were expected, found $found"
        exit 1
    fi
}
excluded '' 8
excluded '{"capacity": "1024MiB"}' 4
excluded '{"capacity": ["4GiB", "1073741824B"], "placement": "none"}' 6
excluded '{"capacity": {"from": "512MiB", "to": "8GiB", "factor": 2}, "placement": "none"}' 4
excluded '{"placement": "none"}, {"capacity": "1GiB"}' 2
excluded '{"trace": {"conversations": 3}}' 4
excluded '{"trace": [{"conversations": 5}, {"conversations": 4}], "placement": "turn"}' 6
excluded '{"eviction": "lru", "capacity": "2GiB"}' 4 # a setting that no key of the file varies
excluded '{"eviction": "fifo"}' 8
# a directory that cannot be made
if "$SNAPSIM" sweep bad.json --output missing/deep 2>message; then
    exit 1
fi
grep -q "create the directory 'missing/deep'" message
# a part reads the traces of other parts for the sweep's identity only: one that is no trace, but
# can be read, fails its own cells and no others, in parts as in one
printf 'no trace\n' >broken.jsonl
printf '{"trace": ["broken.jsonl", {"conversations": 3}], "seed": [1, 2],
 "arrival": ["sequential", "poisson:1"]}' >mixed.json
if "$SNAPSIM" sweep mixed.json -j 3 --output mixed.jsonl 2>message; then
    exit 1
fi
grep -q '4 of 8 cells failed' message
for part in 1 2 3 4 5 6 7 8; do
    "$SNAPSIM" sweep mixed.json --shard $part/8 --output mixed-$part.jsonl 2>/dev/null || [ $part -le 4 ]
done
if "$SNAPSIM" merge mixed-?.jsonl >merged 2>message; then
    exit 1
fi
grep -q '4 of 8 cells failed' message
cmp merged mixed.jsonl
