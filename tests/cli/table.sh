# snapsim table: a sweep as a table, without any script.
set -eu
. "$ROOT/tests/expect.sh"
cat >sweep.json <<'END'
{"name": "table", "trace": {"conversations": 30}, "placement": ["none", "turn", "fixed:4096"],
 "capacity": ["32GiB", "256GiB"]}
END
"$SNAPSIM" sweep sweep.json --output out
expect() { # expect FILE LINE...
    file=$1
    shift
    printf '%s\n' "$@" | diff - "$file" || fail "$file is not as expected"
}

# rows, columns and the value are chosen from what varies; numbers are aligned on the right
"$SNAPSIM" table out >chosen
"$SNAPSIM" table out --rows placement --columns capacity --value hit_ratio | cmp - chosen
[ "$(sed -n 1p chosen)" = "hit_ratio by capacity" ] || fail "heading"
[ "$(awk '{ print length($0) }' chosen | sed 1d | sort -u | wc -l)" = 1 ] || fail "not aligned"
grep -q '^none        0.0000  0.0000$' chosen || fail "no row of zeros: $(cat chosen)"
# a file, a compressed one and a directory are the same
zstd -q out/results.jsonl -o packed
"$SNAPSIM" table packed | cmp - chosen
"$SNAPSIM" table out/results.jsonl | cmp - chosen
# one result, as run prints it
"$SNAPSIM" run --format json >one.json
"$SNAPSIM" table one.json --value requests,hit_ratio --format csv | head -n 1 >found
expect found 'trace,requests,hit_ratio'

# CSV is exact: the ratio is the quotient of the counters
"$SNAPSIM" table out --rows placement,capacity --value hit_tokens,prompt_tokens,hit_ratio \
    --format csv >flat
sed -n 1p flat >found
expect found 'placement,capacity,hit_tokens,prompt_tokens,hit_ratio'
awk -F, 'NR > 1 && ($3 / $4 - $5) ^ 2 > 1e-24 { exit 1 }' flat || fail "hit_ratio is no quotient"
[ "$(wc -l <flat)" = 7 ] || fail "six rows were expected"

# both forms of a plug-in, sizes in any unit, alternatives, exceptions
"$SNAPSIM" table out --where placement=turn >short
"$SNAPSIM" table out --where placement=turn:bounds=0 | cmp - short
"$SNAPSIM" table out --where capacity=32768MiB --where placement!=none --rows placement \
    --value requests --format csv >found
expect found 'placement,requests' "turn,$(sed -n 2p found | cut -d, -f2)" \
    "fixed:4096,$(sed -n 3p found | cut -d, -f2)"
"$SNAPSIM" table out --where placement=turn --where placement=none --rows placement --columns \
    capacity --value requests --format csv | cut -d, -f1 >found
expect found placement none turn
"$SNAPSIM" table out --rows placement.interval --where placement=fixed:4096 --columns capacity \
    --format csv | cut -d, -f1 >found
expect found placement.interval 4096

# the best of each column: marked for people, alone for programs
"$SNAPSIM" table out --best | grep -q '[0-9][*]' || fail "nothing is marked"
"$SNAPSIM" table out --best --format markdown | grep -q '\*\*0\.[0-9]*\*\*' || fail "not bold"
"$SNAPSIM" table out --best --format csv >found
[ "$(cut -d, -f1 found | tr '\n' ' ')" = "capacity 32GiB 256GiB " ] || fail "best: $(cat found)"
"$SNAPSIM" table out --format json >found
[ "$(grep -c '"hit_ratio"' found)" = 6 ] || fail "json"

# what does not fit into one cell is an error that says why
if "$SNAPSIM" table out --rows placement --columns none 2>message; then
    fail "two capacities in one cell"
fi
grep -q 'several results differ in hit_ratio, and in capacity: name that with --rows' message
"$SNAPSIM" table out --rows placement --columns none --aggregate max --format csv >most
"$SNAPSIM" table out --rows placement --where capacity=256GiB --format csv | cmp - most

status 2 "did you mean 'placement'" "$SNAPSIM" table out --rows placment
status 2 "did you mean 'hit_ratio'" "$SNAPSIM" table out --value hit_ration
status 2 'placement has: none, turn, fixed:4096' "$SNAPSIM" table out --where placement=trun
status 2 'key=value was expected' "$SNAPSIM" table out --where placement
status 2 'RESULTS was expected' "$SNAPSIM" table
status 2 'table, csv, json or markdown was expected' "$SNAPSIM" table out --format xml
status 1 'No such file' "$SNAPSIM" table missing
head -c 3000 out/results.jsonl >cut.jsonl
status 1 'cut.jsonl:[0-9]*: JSON was expected' "$SNAPSIM" table cut.jsonl
sed 's/"schema":1/"schema":2/' out/results.jsonl >newer.jsonl
status 1 'newer.jsonl:1: results of schema 2' "$SNAPSIM" table newer.jsonl

# a cell that failed stays visible
printf '{"trace": [{"conversations": 3}, "missing.jsonl"], "placement": ["turn", "none"]}' >bad.json
"$SNAPSIM" sweep bad.json >bad.jsonl 2>/dev/null || true
"$SNAPSIM" table bad.jsonl --rows placement --columns none >found 2>message
grep -q '2 of 4 cells failed; the first: bad.jsonl:' message || fail "$(cat message)"
"$SNAPSIM" table out --keys | grep -q '^peak_bytes ' || fail "--keys"

# a name that looks like an option is no fault of the command line
"$SNAPSIM" run generated:conversations=3 --format json | tr -d '\n' |
    sed 's/"name":\t"generated[^"]*"/"name":"--odd"/' >odd.jsonl
echo >>odd.jsonl
sed 's/"hit_ratio":[^,}]*/"hit_ratio":0/; s/"hit_tokens":[^,]*/"hit_tokens":0/' odd.jsonl >odd-2.jsonl
cat odd-2.jsonl >>odd.jsonl
code=0
"$SNAPSIM" table odd.jsonl --rows trace >found 2>&1 || code=$?
[ "$code" = 1 ] && grep -q -- '--odd: several results' found
code=0
"$SNAPSIM" table odd.jsonl --rows tracee >found 2>&1 || code=$?
[ "$code" = 2 ]
