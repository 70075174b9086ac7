# kill -9 at moments spread over a sweep, each followed by --resume: nothing is run twice, nothing is
# lost, and the end is byte for byte that of an undisturbed run. A full disk is said, and survived.
set -eu
cat >sweep.json <<'END'
{"name": "killed", "trace": {"conversations": 400}, "placement": ["turn", "fixed:2048", "sqrt"],
 "eviction": ["lru", "lfu"], "capacity": {"from": "16GiB", "to": "1TiB", "factor": 1.5}}
END
"$SNAPSIM" sweep sweep.json -j2 --output whole.jsonl
kills=0 moment=0
while [ $moment -lt 50 ]; do
    moment=$((moment + 1))
    "$SNAPSIM" sweep sweep.json -j2 --output killed.jsonl --resume 2>/dev/null &
    pid=$!
    sleep "0.$(printf '%03d' $((moment * 37 % 101 + 5)))" # 5 to 105 ms, in no order
    if kill -9 $pid 2>/dev/null; then
        kills=$((kills + 1))
    fi
    wait $pid 2>/dev/null || true
    if [ -e killed.jsonl ]; then
        cmp killed.jsonl whole.jsonl
        rm killed.jsonl
    fi
done
[ $kills -ge 25 ] # most of them hit a sweep that was running
"$SNAPSIM" sweep sweep.json -j2 --output killed.jsonl --resume
cmp killed.jsonl whole.jsonl
[ ! -e killed.jsonl.journal ]
# a torn last line is thrown away
"$SNAPSIM" sweep sweep.json --output torn.jsonl &
pid=$!
sleep 0.1
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
if [ -e torn.jsonl.journal ]; then
    printf '5 0x0123' >>torn.jsonl.journal
fi
"$SNAPSIM" sweep sweep.json --output torn.jsonl --resume # be it all, on a busy machine
cmp torn.jsonl whole.jsonl
# a crash within the first line leaves nothing to go on with, and is no other sweep either
for start in '' 'snapsim-jour' 'snapsim-journal 1 0x'; do
    printf '%s' "$start" >torn.jsonl.journal
    "$SNAPSIM" sweep sweep.json -j2 --output torn.jsonl --resume
    cmp torn.jsonl whole.jsonl
done
printf 'snapsim-journal 2' >torn.jsonl.journal
if "$SNAPSIM" sweep sweep.json --output torn.jsonl --resume 2>message; then
    exit 1
fi
grep -q 'is of another sweep, trace or version' message
rm torn.jsonl.journal
# no room, no permission
if [ -w /dev/full ]; then
    if "$SNAPSIM" run --format json >/dev/full 2>message; then
        exit 1
    fi
    grep -q 'cannot write the result to stdout' message
fi
if "$SNAPSIM" sweep sweep.json --output missing/dir/x.jsonl 2>message; then
    exit 1
fi
grep -q "create 'missing/dir/x.jsonl.journal'" message
