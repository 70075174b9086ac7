# snapsim report: one page, and a sweep file in it that makes the same results again. What a browser
# makes of it: tests/browser/report.sh.
set -eu
. "$ROOT/tests/expect.sh"
if ! command -v gnuplot >/dev/null; then
    echo "gnuplot is not there"
    exit 77
fi
"$SNAPSIM" trace generate -o load.jsonl --conversations 30 --seed 5
cat >sweep.json <<'END'
{"name": "a <b> & c", "trace": "load.jsonl", "placement": ["none", "turn", "fixed:4096"],
 "capacity": ["32GiB", "256GiB"], "tp": 8, "cells": [{"label": "limit", "placement": "turn",
 "capacity": "unlimited", "eviction": "fifo"}]}
END
"$SNAPSIM" sweep sweep.json --output out
"$SNAPSIM" report out -o page.html --where capacity!=unlimited
"$SNAPSIM" report out -o again.html --where capacity!=unlimited
sed 's/again\.html/page.html/' again.html | cmp - page.html
grep -q '<h1>a &lt;b&gt; &amp; c</h1>' page.html || fail "the title"
[ "$(grep -c '<svg ' page.html)" = 3 ] || fail "three figures were expected"
[ "$(grep -c '^<tr><td' page.html)" = 6 ] || fail "six rows were expected"
sha256=$(sha256sum load.jsonl | cut -d ' ' -f 1)
grep -q "$sha256" page.html || fail "the trace's digest is not in it"
grep -q 'snapsim report out -o page.html --where' page.html || fail "the command is not in it"

# the page's own sweep file, with the trace under the name it gives: a grid, and single cells
cp load.jsonl load
again() {
    sed -n '/<pre id="sweep">/,/<\/pre>/p' "$1" |
        sed 's/.*<pre id="sweep">//; s/<\/pre>.*//; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}
again page.html >grid.json
grep -q '"capacity":	\["32GiB", "256GiB"\]' grid.json || fail "no grid: $(cat grid.json)"
"$SNAPSIM" sweep grid.json --output again
grep -v '"unlimited"' out/results.jsonl >base.jsonl
"$SNAPSIM" compare base.jsonl again >found || fail "the grid differs: $(cat found)"
"$SNAPSIM" report out -o all.html
again all.html >cells.json
grep -q '"label":	"limit"' cells.json || fail "no cells: $(cat cells.json)"
"$SNAPSIM" sweep cells.json --output cells
"$SNAPSIM" compare out cells >found || fail "the cells differ: $(cat found)"

# a single result has a page as well; seeds are averaged in figures
"$SNAPSIM" run load.jsonl --format json >one.json
"$SNAPSIM" report one.json -o one.html
[ "$(grep -c '<svg ' one.html)" = 1 ] || fail "one figure was expected of one result"
printf '{"trace": "load", "placement": ["turn", "none"], "capacity": ["32GiB", "1TiB"], "seed": [1, 2]}' >seeds.json
"$SNAPSIM" sweep seeds.json --output seeds
"$SNAPSIM" report seeds -o seeds.html
grep -q 'the mean over all seeds' seeds.html || fail "seeds"
grep -q 'could not be drawn' seeds.html page.html all.html one.html && fail "a figure is missing"

status 2 'RESULTS and -o FILE.html' "$SNAPSIM" report out
status 2 "did you mean 'peak_bytes'" "$SNAPSIM" report out -o x.html --value peak_byte
status 1 'No such file' "$SNAPSIM" report missing -o x.html
[ ! -e x.html ] || fail "a page in spite of an error"
