# "bound": true in a sweep: each result says between what the best possible lies, as `snapsim bound`
# says it for the same setting; found once for all cells that share a load and a capacity.
set -eu
. "$ROOT/tests/expect.sh"
cat >sweep.json <<'END'
{"bound": true, "trace": {"conversations": 60, "seed": 2}, "tp": 8,
 "placement": ["turn", "reply-end", "fixed:4096"], "memory": ["ideal", "equal"],
 "capacity": ["4GiB", "8GiB", "16GiB"]}
END
"$SNAPSIM" sweep sweep.json --output one.jsonl
"$SNAPSIM" sweep sweep.json -j 2 --output two.jsonl
cmp one.jsonl two.jsonl
"$SNAPSIM" table one.jsonl --rows placement,memory,capacity --columns none --format csv \
    --value hit_tokens,feasible_tokens,dual_tokens,ideal_tokens >values.csv
[ "$(wc -l <values.csv)" = 19 ]
# hit and feasible are below dual, which is not above ideal, and below it where memory is short
awk -F, 'NR > 1 { if ($4 > $6 || $5 > $6 || $6 > $7) bad = 1; if ($6 < $7) short++ }
    END { exit bad || short == 0 }' values.csv || fail "$(cat values.csv)"
# six settings share a capacity, and so its limits
[ "$(cut -d, -f3,5- values.csv | sed 1d | sort -u | wc -l)" = 3 ] || fail "$(cat values.csv)"
"$SNAPSIM" bound generated:conversations=60,seed=2 --tp 8 --capacity 8GiB --placement reply-end \
    --format json >single.json
number() { sed -n "s/.*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" single.json; }
grep "^reply-end,ideal,8GiB,$(number hit_tokens),$(number feasible_tokens),$(number dual_tokens)," \
    values.csv >/dev/null || fail "$(cat single.json values.csv)"
"$SNAPSIM" table one.jsonl --where memory=ideal --rows placement --columns capacity \
    --value reached_ratio >reached
grep -q '^reply-end' reached
# a figure of hit ratios draws the limits; without them, or of something else, it does not
"$SNAPSIM" plot hit-rate one.jsonl --where memory=ideal -o x.svg --csv x.csv
head -n 1 x.csv | grep -q '"fixed:4096","knowing the future","none can pass"$' || fail "$(cat x.csv)"
grep -q 'none can pass' x.svg
"$SNAPSIM" plot hit-rate one.jsonl --where memory=ideal --value peak_bytes -o x.svg --csv x.csv
head -n 1 x.csv | grep -q '"fixed:4096"$' || fail "$(cat x.csv)"
sed 's/"bound": true, //' sweep.json >plain.json
"$SNAPSIM" sweep plain.json --output plain.jsonl
grep -q dual_tokens plain.jsonl && fail "limits that nobody asked for"
"$SNAPSIM" plot hit-rate plain.jsonl --where memory=ideal -o x.svg --csv x.csv
head -n 1 x.csv | grep -q '"fixed:4096"$' || fail "$(cat x.csv)"
# a name with commas is one name, and a capacity of 0 has no place on an axis of octaves
sed 's/"reply-end", "fixed:4096"/"ladder:3,from=end"/; s/"4GiB", "8GiB"/"0", "8GiB"/' plain.json >names.json
"$SNAPSIM" sweep names.json --output names.jsonl
"$SNAPSIM" plot hit-rate names.jsonl --where memory=ideal -o x.svg --csv x.csv 2>said
grep -q '1 of its values' said || fail "$(cat said)"
grep -q '>ladder:3;from=end<' x.svg || fail "$(head -n 1 x.csv)"
[ "$(wc -l <x.csv)" = 3 ] || fail "$(cat x.csv)"
# the sweep that a report prints asks for the limits, too
"$SNAPSIM" report one.jsonl -o report.html
grep -q 'bound&quot;:' report.html || fail "no bound in the report"
# what the results have in common is the same
"$SNAPSIM" compare plain.jsonl one.jsonl >/dev/null || fail "compare: $?"
sed 's/true/1/' sweep.json >wrong.json
fails 1 'wrong.json:1: bound: true or false was expected' sweep wrong.json
