# What stands behind the name of a model decides results as the trace does: a model file that changed
# between the parts of a sweep, before it goes on, or since a result was made, is refused by name and
# with both digests. What changes no number, the texts of a model, is no change.
set -eu
. "$ROOT/tests/expect.sh"
"$SNAPSIM" model show qwen3.5-4b --format json >first.json
sed 's/"head_dim":\([[:space:]]*\)256/"head_dim":\1128/' first.json >second.json # heads of attention
cmp -s first.json second.json && fail "no heads were changed"
cat >sweep.json <<'END'
{"trace": {"conversations": 20}, "model": ["m.json", "kimi-k3"],
 "capacity": {"from": "1GiB", "to": "64GiB", "factor": 1.01}}
END
digest() { # the SHA-256 that a result gives of model $1
    sed -n "s/.*\"model\":{\"name\":\"$1\",\"sha256\":\"\([0-9a-f]*\)\".*/\1/p" "$2" | sort -u
}
cp first.json m.json
"$SNAPSIM" sweep sweep.json -j2 --output whole.jsonl
"$SNAPSIM" sweep sweep.json --shard 1/2 --output part-1.jsonl
cp second.json m.json
"$SNAPSIM" sweep sweep.json --shard 2/2 --output part-2.jsonl
a=$(digest m.json part-1.jsonl) b=$(digest m.json part-2.jsonl)
if [ ${#a} != 64 ] || [ ${#b} != 64 ] || [ "$a" = "$b" ]; then
    fail "digests '$a' and '$b'"
fi
# a file is its content, whatever it is called: that of the preset, here
"$SNAPSIM" run --requests 1 --model qwen3.5-4b --format json | tr -d '\n\t' >preset
[ "$(digest qwen3.5-4b preset)" = "$a" ] || fail "the preset: $(cat preset)"
fails 1 "part-2.jsonl:1: a result of model file 'm.json' with sha256 $a was expected, found $b" \
    merge part-1.jsonl part-2.jsonl
# before it goes on: finished, and killed
fails 1 "'part-1.jsonl': model file 'm.json': was sha256 $a, is now $b; --force starts anew" \
    sweep sweep.json --shard 1/2 --output part-1.jsonl --resume
cp first.json m.json
"$SNAPSIM" sweep sweep.json --shard 1/2 --output part-1.jsonl --resume
killed=0
for try in 1 2 3 4 5 6 7 8 9 10; do
    rm -f killed.jsonl killed.jsonl.journal
    "$SNAPSIM" sweep sweep.json --output killed.jsonl 2>/dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(wc -l 2>/dev/null <killed.jsonl.journal || echo 0)" -lt 4 ]; do
        sleep 0.01
    done
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    if [ ! -e killed.jsonl ]; then
        killed=1
        break
    fi
done
[ $killed = 1 ] || fail "the sweep was never caught running, not even at try $try"
cp second.json m.json
fails 1 "'killed.jsonl.journal': model file 'm.json': was sha256 $a, is now $b; --force starts anew" \
    sweep sweep.json --output killed.jsonl --resume
cp first.json m.json
"$SNAPSIM" sweep sweep.json -j2 --output killed.jsonl --resume
cmp killed.jsonl whole.jsonl
# a result is replayed with the model that it was made with
head -n 1 whole.jsonl >result.json
"$SNAPSIM" run --config result.json >/dev/null
cp second.json m.json
fails 1 "result.json was made with another model: model file 'm.json': was sha256 $a, is now $b" \
    run --config result.json
# compare holds cells of two contents for two cells
"$SNAPSIM" sweep sweep.json -j2 --output other.jsonl
code=0
"$SNAPSIM" compare whole.jsonl other.jsonl --only hit_ratio --tolerance hit_ratio=1 >found || code=$?
[ $code = 3 ] || fail "compare: status $code"
grep -q "(model 'm.json' of sha256 $a, there $b): not in NEW" found || fail "$(head found)"
# results of older programs do not say it: then only settings and traces count
sed 's/\("model":{"name":"[^"]*",\)"sha256":"[0-9a-f]*",/\1/' whole.jsonl >older.jsonl
"$SNAPSIM" compare older.jsonl whole.jsonl >found || fail "$(head found)"
# texts are no content, and a file may leave out what is at its default
sed 's/"summary":[[:space:]]*"[^"]*"/"summary":"another"/; /"conv_kernel":[[:space:]]*4,*$/d' first.json >m.json
sed 's/,\([[:space:]]*\)$/,\1/' m.json | tr -d '\n\t' | sed 's/,}/}/g' >short.json
cp short.json m.json
cmp -s first.json m.json && fail "nothing was changed"
"$SNAPSIM" sweep sweep.json --output whole.jsonl --resume 2>said
grep -q complete said || fail "$(cat said)"
# costs say what they were made from
"$SNAPSIM" cost --model ./m.json --format json >cost.json
grep -q "\"model_sha256\":[[:space:]]*\"$a\"" cost.json || fail "$(head cost.json)"
grep -q '"calibration_sha256":[[:space:]]*"[0-9a-f]\{64\}"' cost.json || fail "$(head cost.json)"
