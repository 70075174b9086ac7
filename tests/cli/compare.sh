# snapsim compare: the gate in front of a change. 0 equal, 3 differs, 1 failed, 2 usage.
set -eu
. "$ROOT/tests/expect.sh"
cat >sweep.json <<'END'
{"name": "gate", "trace": {"conversations": 30}, "placement": ["none", "turn", "fixed:4096"],
 "capacity": ["32GiB", "256GiB"]}
END
status() { # status EXPECTED COMMAND...: its output in found
    expected=$1
    shift
    code=0
    "$@" >found 2>&1 || code=$?
    [ "$code" = "$expected" ] || fail "$*: status $code, not $expected: $(head -n 5 found)"
}
"$SNAPSIM" sweep sweep.json --output base
# threads, order, compression, program version and the way a sweep is written make no difference
"$SNAPSIM" sweep sweep.json -j 2 | sort -r | sed 's/"version":"[^"]*"/"version":"other"/' >new.jsonl
zstd -q new.jsonl
status 0 "$SNAPSIM" compare base new.jsonl.zst
[ "$(cat found)" = "6 cells, all equal" ] || fail "$(cat found)"

# a planted change: 1000 hit tokens of one cell
hits=$(sed -n 's/.*"placement":"turn[^"]*".*"capacity":"32GiB".*"hit_tokens":\([0-9]*\).*/\1/p' new.jsonl)
[ -n "$hits" ] || fail "no cell to change"
sed "s/\"hit_tokens\":$hits,/\"hit_tokens\":$((hits - 1000)),/" new.jsonl >changed.jsonl
status 3 "$SNAPSIM" compare base changed.jsonl
grep -q '^of 6 cells 1 moved$' found || fail "$(cat found)"
grep -q '^placement=turn capacity=32GiB: hit_ratio -0' found || fail "the cell is not named"
grep -q '^  hit_tokens ' found || fail "the key is not named"
status 3 "$SNAPSIM" compare base changed.jsonl --tolerance hit_tokens=999
status 0 "$SNAPSIM" compare base changed.jsonl --tolerance hit_tokens=1000
status 0 "$SNAPSIM" compare base changed.jsonl --tolerance all=100%
status 0 "$SNAPSIM" compare base changed.jsonl --only hit_ratio --tolerance hit_ratio=0.1
status 3 "$SNAPSIM" compare base changed.jsonl --only hit_ratio
# only the order of events: the digest says so
sed '2s/"digest":"0x[0-9a-f]*","sweep"/"digest":"0x1","sweep"/' base/results.jsonl >digest.jsonl
status 3 "$SNAPSIM" compare base digest.jsonl
grep -q '^  digest  *differs' found || fail "$(cat found)"

# missing, extra and failed cells
sed 1d base/results.jsonl >fewer.jsonl
status 3 "$SNAPSIM" compare base fewer.jsonl
grep -q 'placement=none capacity=32GiB: not in NEW' found || fail "$(cat found)"
status 3 "$SNAPSIM" compare fewer.jsonl base
grep -q 'not in BASE' found || fail "$(cat found)"
sed '1s/"result":{[^}]*}/"error":"50% of it broke"/' base/results.jsonl >failed.jsonl
status 3 "$SNAPSIM" compare base failed.jsonl
grep -q 'fails now: 50% of it broke' found || fail "$(cat found)"

# the other formats
status 3 "$SNAPSIM" compare base failed.jsonl --format github
grep -q '^::error title=placement=none capacity=32GiB::fails now: 50%25 of it broke$' found ||
    fail "$(cat found)"
status 3 "$SNAPSIM" compare base changed.jsonl --format tap
{ grep -q '^1\.\.6$' found && grep -q '^not ok 1 - placement=turn capacity=32GiB$' found; } ||
    fail "tap: $(cat found)"
status 3 "$SNAPSIM" compare base changed.jsonl --format junit
{ grep -q '<testsuites tests="6" failures="1">' found && grep -q '<failure message="' found; } ||
    fail "junit: $(cat found)"
if command -v xmllint >/dev/null; then
    xmllint --noout found
fi
status 3 "$SNAPSIM" compare base changed.jsonl --format json
{ grep -q '"moved":	1,' found && grep -q '"cell":	"placement=turn capacity=32GiB"' found; } ||
    fail "json: $(cat found)"
status 0 "$SNAPSIM" compare base new.jsonl --format github
[ "$(cat found)" = "::notice title=snapsim compare::6 cells, all equal" ] || fail "$(cat found)"

# a gate that cannot compare what it is asked for does not pass
for ratio in 0.91 0.70; do
    printf '{"schema":1,"config":{"placement":"turn"},"result":{"hit_ratio":%s}}\n' $ratio >$ratio.jsonl
done
status 3 "$SNAPSIM" compare 0.91.jsonl 0.70.jsonl --only hit_ratio
grep -q '^  hit_ratio  *0.9100 -> 0.7000' found || fail "$(cat found)"
status 2 "$SNAPSIM" compare 0.91.jsonl 0.70.jsonl --only hit_ratio,hit_tokens
grep -q "0.91.jsonl:1: --only: a number 'hit_tokens' was expected" found || fail "$(cat found)"
: >nothing.jsonl
status 1 "$SNAPSIM" compare 0.91.jsonl nothing.jsonl

status 2 "$SNAPSIM" compare base
status 2 "$SNAPSIM" compare base base --tolerance hit_ratio
status 2 "$SNAPSIM" compare base base --tolerance hit_ration=1
status 2 "$SNAPSIM" compare base base --format xml
status 1 "$SNAPSIM" compare base nothing-there

# a gate at which nothing ran does not pass
printf '{"trace": "missing.jsonl", "placement": ["turn", "none"]}' >failing.json
"$SNAPSIM" sweep failing.json --output failing.jsonl 2>/dev/null || true
code=0
"$SNAPSIM" compare failing.jsonl failing.jsonl >/dev/null 2>message || code=$?
[ "$code" = 1 ] && grep -q 'nothing was compared' message

# two large sweeps that have no cell in common: one by one, each row is looked for in few steps
awk 'NR == 1 { for (i = 0; i < 6000; i++) { line = $0; sub(/"seed":[0-9]*/, "\"seed\":" i, line)
    print line } }' base/results.jsonl >large.jsonl
sed 's/"min-compute-tokens":1/"min-compute-tokens":2/' large.jsonl >other.jsonl
status 3 timeout 60 "$SNAPSIM" compare large.jsonl other.jsonl
grep -q 'min-compute-tokens=2' found || fail "$(head -n 5 found)"
# all of them failed, the other way round: found by what they still say of themselves
sed 's/"trace":{[^}]*},.*/"error":"it broke"}/' large.jsonl | tac >none.jsonl
status 3 timeout 60 "$SNAPSIM" compare none.jsonl large.jsonl
grep -q '^of 6000 cells 6000 failed before$' found || fail "$(head -n 5 found)"
[ "$(timeout 60 "$SNAPSIM" table large.jsonl --rows seed,placement --columns capacity | wc -l)" = 6002 ]
