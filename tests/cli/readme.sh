# Every command of the README works as it stands there, in the order in which it stands there.
set -eu
mkdir build
ln -s "$SNAPSIM" build/snapsim
awk '/^```json$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$ROOT/README.md" >sweep.json
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$ROOT/README.md" |
    grep -v '^make' >commands
grep -q 'snapsim compare' commands
# the gate compares with the results of an earlier version
"$SNAPSIM" sweep sweep.json --output base.jsonl
sh -eux commands >stdout 2>stderr || {
    tail -n 5 stderr
    exit 1
}
[ -s report.html ] && [ -s hit-rate.pdf ]
# the table that it shows is what the demo prints
"$SNAPSIM" sweep "$ROOT/tools/demo/demo.json" --output demo
"$SNAPSIM" table demo --rows placement --columns capacity --value hit_ratio --best >demo.txt
awk '/^hit_ratio by capacity/ { inside = 1 } /^(\.\.\.|```)$/ { inside = 0 } inside' \
    "$ROOT/README.md" >shown.txt
head -n "$(wc -l <shown.txt)" demo.txt | diff shown.txt -
