# Inputs without an end, memory and files that run out: a sentence, status 1, and nothing left over.
# shellcheck disable=SC3045 # every shell that is here limits memory
set -eu
. "$ROOT/tests/expect.sh"
if [ ! -c /dev/zero ]; then
    echo "/dev/zero is not there"
    exit 77
fi
mkdir tmp
export TMPDIR="$PWD/tmp"
# Where memory can be limited: a build with sanitizers reserves far more than any limit.
if (ulimit -v 1000000 && "$SNAPSIM" --version >/dev/null 2>&1); then
    limited() { (ulimit -v "$1" && shift && "$@"); }
else
    limited() { shift && "$@"; }
fi
# endless WORDS COMMAND...: says WORDS, with status 1, in 2 GiB at most
endless() {
    words=$1
    shift
    code=0
    limited 2000000 "$SNAPSIM" "$@" >stdout 2>message || code=$?
    { [ "$code" = 1 ] && grep -qF -- "$words" message && [ ! -s stdout ]; } ||
        fail "snapsim $*: status $code, $(cat message)"
}
file='/dev/zero: expected a file of at most 64 MiB, found a longer one'
line='/dev/zero:1: expected a line of at most 64 MiB, found a longer one'
endless "$file" model show /dev/zero
endless "$file" run --model /dev/zero
endless "$file" run --config /dev/zero
endless "$file" sweep /dev/zero
endless "$file" calib show /dev/zero
endless "$file" calib diff h200 /dev/zero
endless "$file" cost --calib /dev/zero
endless "$line" table /dev/zero --rows placement --columns capacity
endless "$line" compare /dev/zero /dev/zero
endless "$line" report /dev/zero -o page.html
endless "$line" plot hit-rate /dev/zero -o picture.svg
endless "$line" merge /dev/zero
endless "/dev/zero" trace info /dev/zero
# a pipe that does not end, a file with a hole of 10 GB, and a result over many lines
mkfifo pipe
(yes ' ' >pipe 2>/dev/null || true) &
endless 'pipe: expected a file of at most 64 MiB' model show ./pipe
wait
truncate -s 10G hole.json
endless 'hole.json: expected a file of at most 64 MiB' run --config hole.json
(yes '' | sed '1s/^/{/' >pipe 2>/dev/null || true) &
endless 'pipe: expected a result of at most 64 MiB, found a longer one' table pipe
wait
# just as long as it may be is long enough: 64 MiB, of which all but three are blanks
{ printf '{ ' && head -c 67108861 /dev/zero | tr '\0' ' ' && printf '}'; } >largest.json
[ "$(wc -c <largest.json)" = 67108864 ] || fail "not 64 MiB"
endless "largest.json:1: key 'hidden_dim' is missing" model show ./largest.json
rm -f largest.json hole.json

# no file may become longer than 8 KiB
"$SNAPSIM" trace generate -o load.jsonl --conversations 40
cp load.jsonl before.jsonl
printf '{"trace": "load.jsonl", "seed": {"from": 1, "to": 9, "step": 1}}' >sweep.json
small() { # small COMMAND...: fails with a sentence, and leaves what was there
    code=0
    (ulimit -f 16 && "$SNAPSIM" "$@") >stdout 2>message || code=$?
    { [ "$code" = 1 ] && grep -qE 'File too large|cannot write' message; } ||
        fail "snapsim $*: status $code, $(cat message)"
    # shellcheck disable=SC2010 # names of ours
    ! ls . tmp | grep -E '\.tmp\.|^snapsim-plot' || fail "snapsim $*: left over"
}
small trace generate -o load.jsonl --conversations 40
cmp load.jsonl before.jsonl
small trace convert load.jsonl -o load.snapsim
small run load.jsonl --per-request requests.csv
small sweep sweep.json
small sweep sweep.json --output out.jsonl
"$SNAPSIM" sweep sweep.json --output out.jsonl --resume
[ "$(wc -l <out.jsonl)" = 9 ] || fail "resume: $(wc -l <out.jsonl) lines"
small report out.jsonl -o page.html
{ [ ! -e load.snapsim ] && [ ! -e requests.csv ] && [ ! -e page.html ]; } || fail "a cut file"

# memory that runs out, at whatever point: status 1 and a sentence, or all is well
if ! (ulimit -v 1000000 && "$SNAPSIM" --version >/dev/null 2>&1); then
    exit 0
fi
"$SNAPSIM" trace generate -o large.jsonl --conversations 4000
ended=0
scarce() { # scarce KIB COMMAND...
    code=0
    (ulimit -v "$1" && shift && exec "$@") >stdout 2>message || code=$?
    [ "$code" -le 1 ] || fail "$*: status $code, $(cat message)"
    [ "$code" = 0 ] || grep -q '^snapsim: ' message || fail "$*: $(cat message)"
    ! grep -q '^snapsim: out of memory' message || ended=$((ended + 1))
    # shellcheck disable=SC2010 # names of ours
    ! ls . tmp | grep -E '\.tmp\.|^snapsim-plot' || fail "$*: left over"
}
base=6000
while ! (ulimit -v $base && exec "$SNAPSIM" --version) >/dev/null 2>&1; do
    base=$((base + 500))
done
for more in 300 1000 3000 9000 27000; do
    scarce $((base + more)) "$SNAPSIM" run large.jsonl
    scarce $((base + more)) "$SNAPSIM" trace convert large.jsonl -o large.snapsim
    scarce $((base + more)) "$SNAPSIM" plot hit-rate out.jsonl --x seed -o seeds.svg
    scarce $((base + more)) "$SNAPSIM" model show kimi-k3 --format json
done
[ "$ended" -ge 6 ] || fail "memory ran out $ended times only"
