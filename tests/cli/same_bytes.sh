# A result depends on the trace's content and the settings alone: not on compression or compilation
# of the trace, and the config of a result gives the same result again.
set -eu
"$SNAPSIM" trace generate -o load.jsonl --conversations 40 --seed 3
zstd -q load.jsonl
"$SNAPSIM" trace convert load.jsonl -o load.snapsim
settings="--placement turn+fixed:4096 --eviction lru:refresh=path --capacity 100GiB --orphans keep"
for form in load.jsonl load.jsonl.zst load.snapsim; do
    # shellcheck disable=SC2086 # several words
    "$SNAPSIM" run $form $settings --format json --per-request "$form.csv" >"$form.json"
done
cmp load.jsonl.json load.jsonl.zst.json
cmp load.jsonl.json load.snapsim.json
cmp load.jsonl.csv load.snapsim.csv
"$SNAPSIM" run load.jsonl --config load.jsonl.json --format json >again.json
cmp load.jsonl.json again.json
# the config alone is enough, too
sed -n '/"config"/,/}/p' load.jsonl.json | sed '1s/.*/{/; $s/},/}/' >config.json
"$SNAPSIM" run load.jsonl --config config.json --format json >alone.json
cmp load.jsonl.json alone.json
# a result is not replayed on another trace
"$SNAPSIM" trace generate -o other.jsonl --conversations 40 --seed 4
if "$SNAPSIM" run other.jsonl --config load.jsonl.json 2>message; then
    echo "a result was replayed on another trace"
    exit 1
fi
grep -q 'was made from another trace' message
