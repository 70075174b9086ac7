# What users type wrong is named, with what is near to it; statuses are those of the manual.
set -eu
. "$ROOT/tests/expect.sh"
fails 2 "did you mean 'run'?" rum
fails 2 "did you mean 'capacity'?" run --capactiy 1GiB
fails 2 "unknown option '--zzzzzz'" run --zzzzzz 1
fails 2 "--capacity needs a value" run --capacity
fails 2 "--capacity: '64Gib' is not a size" run --capacity 64Gib
# a size below 1 MiB needs a unit: "64" is a slip, not 64 bytes
fails 2 "--capacity: 64 bytes? A unit was expected: 64GiB, or 64B if bytes are meant" run --capacity 64
fails 2 "--capacity: 1.5 bytes? A unit was expected: 1.5GiB" run --capacity 1.5
fails 2 "slab: 4096 bytes? A unit was expected" run --memory elastic:slab=4096
printf '{"seed": 1,\n"capacity": [0, 64]}' >sweep.json
fails 1 "sweep.json:2: capacity: 64 bytes? A unit was expected" sweep sweep.json
# a capacity is printed in a form that is read again, whatever it is
capacity() { # capacity TYPED PRINTED: two forms of one size
    for size in "$1" "$2"; do
        "$SNAPSIM" run --requests 20 --capacity "$size" --format json >result.json
        grep -q "\"capacity\":[[:space:]]*\"$2\"" result.json || fail "$1: $(grep capacity result.json)"
        "$SNAPSIM" run --config result.json --format json | cmp - result.json
    done
}
capacity 64G 64GiB
capacity 0.5T 512GiB
capacity 65536M 64GiB
capacity 16777216K 16GiB
capacity 0 0
capacity 64B 64B
capacity 17179869185 17179869185B
capacity 1000000000000B 976562500KiB
capacity unlimited unlimited
fails 2 "--orphans: drop, keep or keep-for-fork was expected, found 'maybe'" run --orphans maybe
fails 2 "one argument too many" run a b
fails 2 "unknown option '--to' (did you mean 'tokens'?)" cost --to=5
fails 2 "did you mean 'snapshot-dtype'?" model show kimi-k3 --snapshot-dtyp bf16
fails 2 "unknown option '--tp'" model list --tp 8
fails 2 "did you mean 'conversations'?" trace generate -o x --conversation 5
fails 2 "--format: table, json or csv was expected, found 'xml'" run missing.jsonl --format xml
fails 2 "--format: table or json was expected, found 'csv'" advise missing.jsonl --format csv
fails 2 "--format: table or json was expected, found 'csv'" cost --format csv
fails 2 "--format: table, csv, json or markdown was expected" table missing --format xml
fails 2 "--format: table, json, junit, tap or github was expected" compare a b --format xml
mkdir -p empty
fails 1 "empty: a directory with results.jsonl or results.jsonl.zst was expected" merge empty
fails 2 "-o needs a value" trace generate -o
fails 1 "open '--format'" trace info -- --format
fails 2 "did you mean 'prompt-end'?" run --placement prompt-emd
fails 2 "placement 'fixed': interval: a whole number from 1 to 1048576" run --placement fixed:0
fails 2 "placement 'fixed' has no parameter 'intervall' (did you mean 'interval'?)" \
    run --placement fixed:intervall=3
fails 2 "did you mean 'lru'?" run --eviction lruu
fails 2 "did you mean 'kimi-k2'?" run --model kimi-k2.9
fails 1 "open 'missing.jsonl'" run missing.jsonl
fails 1 "memory 'ideal' has no pages" run --page-tokens 16
fails 2 "page-tokens: auto, trace or a number from 1 to 1048576 was expected, found '0'" \
    run missing.jsonl --page-tokens 0
fails 2 "arrival: auto, sequential, recorded" run --arrival never
fails 2 "sweep: a file was expected" sweep
fails 2 "--shard: I/N with I from 1 to N was expected, found '3/2'" sweep x.json --shard 3/2
printf '{"capacityy": "1GiB"}' >sweep.json
fails 1 "sweep.json:1: there is no setting 'capacityy' (did you mean 'capacity'?)" sweep sweep.json
printf '{\n"seed": 1,\n"capacity": {"from": "1GiB", "to": "4GiB"}}' >sweep.json
fails 1 'sweep.json:3: capacity: {"from": A, "to": B' sweep sweep.json
for range in '"from": "1GiB", "to": "unlimited", "factor": 2' '"from": "", "to": "1GiB", "factor": 2' \
    '"from": "1GiB", "to": "9000000TiB", "factor": 2'; do
    printf '{"capacity": {%s}}' "$range" >sweep.json
    fails 1 'sweep.json:1: capacity: {"from": A, "to": B' sweep sweep.json
done
printf '{"seed": {"from": -3, "to": 2, "step": 1}}' >sweep.json
fails 1 "numbers from 0 to below 2^63" sweep sweep.json
printf '{"page-tokens": ["auto"],\n"page_tokens": ["trace"]}' >sweep.json
fails 1 "sweep.json:2: setting 'page-tokens' appears twice" sweep sweep.json
printf '{"seed": 1,\n"page-tokens": ["auto", "none"]}' >sweep.json
fails 1 "sweep.json:2: page-tokens: auto, trace or a number" sweep sweep.json --dry-run
printf '{"seed": 1,\n"placement": ["turn", "tunr"]}' >sweep.json
fails 1 "sweep.json:2: placement: there is none called 'tunr' (did you mean 'turn'?)" sweep sweep.json
printf '{"seed": 1,\n"capacity": []}' >sweep.json
fails 1 "sweep.json:2: capacity: an empty list" sweep sweep.json
for rule in '"capacity": []' '"eviction": "fifo",\n"capacity": []'; do
    # shellcheck disable=SC2059 # a line end in the rule
    printf "{\"seed\": [1, 2], \"exclude\": [{\n$rule}]}" >sweep.json
    fails 1 ": capacity: an empty list" sweep sweep.json
done
printf '{"seed": [1, 2],\n"exclude": [{"eviction": "fifo",\n"placment": "turn"}]}' >sweep.json
fails 1 "sweep.json:3: there is no setting 'placment'" sweep sweep.json
printf '{"seed": [1, 2],\n"exclude": [{}]}' >sweep.json
fails 1 "sweep.json:2: exclude: a list of objects with settings was expected" sweep sweep.json
printf '{"name": 5}' >sweep.json
fails 1 "sweep.json:1: name: text was expected" sweep sweep.json
printf '{"seed": [1, 2],\n"seed": 3}' >sweep.json
fails 1 "sweep.json:2: key 'seed' appears twice" sweep sweep.json
printf '[{"seed": 1}, 2]' >config.json
fails 1 "config.json:1: an object of settings was expected" run --config config.json
commands=0 options=0
for command in "" $("$SNAPSIM" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'); do
    # shellcheck disable=SC2086 # none or one word
    "$SNAPSIM" $command --help >stdout 2>stderr
    if [ -s stderr ] || ! grep -q '^examples*:' stdout; then fail "snapsim $command --help: $(cat stderr)"; fi
    awk 'length($0) > 80 { exit 1 }' stdout || fail "snapsim $command --help: a line of more than 80 columns"
    [ -n "$command" ] || continue
    commands=$((commands + 1))
    # every option that the manual tells of is in the help, and is an option: it lacks only a value
    "$SNAPSIM" man-part command "$command" >page
    if grep -q 'Sx SETTINGS' page; then "$SNAPSIM" man-part options >>page; fi
    sed -n 's/\\-/-/g; s/^\.It .*Fl -\([^ ]*\).*/\1/p' page >in-page
    while read -r option; do
        options=$((options + 1))
        grep -q -- "^  \(-., \)*--$option\( \|$\)" stdout || fail "snapsim $command --help: no --$option"
    done <in-page
    # and the other way round
    sed -n 's/^  \(-., \)*--\([a-z-]*\).*/\2/p' stdout | sort -u >in-help
    sort -u in-page | cmp -s - in-help || fail "snapsim $command: --help and manual differ"
done
# more than the settings of a run, 20 or so, in the four commands that take them
if [ "$commands" -lt 15 ] || [ "$options" -lt 120 ]; then fail "$commands commands, $options options"; fi
# forms of options, and what is said where they go wrong
fails 2 "list: placements, evictions, memories, models or formats was expected, found nothing" list
fails 2 "(did you mean 'placements'?)" list placement
fails 2 "one argument too many: 'x'" list models x
fails 2 "trace: info, check, convert or generate was expected, found 'inof' (did you mean 'info'?)" trace inof
fails 2 "trace convert: one trace and -o FILE were expected" trace convert a.jsonl
fails 2 "trace generate: -o FILE was expected" trace generate
fails 2 "unknown option '-o': trace convert takes it, info does not" trace info a -o b
fails 2 "--threads: a whole number from 1 to 1024 was expected, found '0'" sweep x.json -j0
fails 2 "--aggregate: none, mean, min or max was expected, found 'sum'" table x --aggregate sum
fails 2 "--font-size: a number from 3 to 72 was expected, found '2'" plot misses x -o x.png --font-size 2
fails 2 "--best: yes or no was expected, found 'x'" table x --best=x
fails 2 "--where needs a value" table x --where
"$SNAPSIM" --version | grep -q '^snapsim '
# what cannot be written is a failure, be it a list, help or the version
if [ -w /dev/full ]; then
    for words in "list placements" "list models" "list formats" "list --help" "--version" "--help" \
        "run --help" "model list"; do
        code=0
        # shellcheck disable=SC2086 # several words
        "$SNAPSIM" $words >/dev/full 2>stderr || code=$?
        if [ "$code" != 1 ] || ! grep -q 'cannot write' stderr; then
            echo "snapsim $words: status $code"
            exit 1
        fi
    done
fi
