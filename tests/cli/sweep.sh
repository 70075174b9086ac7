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
# an exclusion of a trace that no cell has excludes nothing and is no trace of the sweep
printf '{"trace": {"conversations": 3}, "exclude": [{"trace": "not-there.jsonl"}]}' >exclude.json
"$SNAPSIM" sweep exclude.json --dry-run >cells
head -n 1 cells | grep -vq trace=
[ "$(wc -l <cells)" = 2 ]
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
