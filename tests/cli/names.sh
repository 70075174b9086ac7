# Names come from files and command lines: none of their control characters reaches a terminal.
set -eu
. "$ROOT/tests/expect.sh"
escape=$(printf '\033]0;owned\007\033[31m') wide=$(printf '\302\233') single=$(printf '\233') lf='
'
name="it's \"$escape$wide$single$lf$(printf 'b\177')"
# clean FILE: no control characters but line ends and tabs, in either of their two forms
clean() {
    LC_ALL=C tr -d '\n\t' <"$1" | LC_ALL=C grep -q '[[:cntrl:]]' && fail "$2: $(cat -v "$1")"
    ! LC_ALL=C grep -q "$wide\|$single" "$1" || fail "$2: $(cat -v "$1")"
}
says() { # says STATUS COMMAND...
    expected=$1
    shift
    code=0
    "$SNAPSIM" "$@" >stdout 2>stderr || code=$?
    [ "$code" = "$expected" ] || fail "$*: status $code, $(cat -v stderr)"
    clean stdout "$*"
    clean stderr "$*"
}
"$SNAPSIM" trace generate -o "$name.jsonl" --conversations 10
says 0 trace info "$name.jsonl"
# shellcheck disable=SC1003 # backslashes
grep -qF '\u001b]0;owned\u0007\u001b[31m\u009b\u009b\u000ab\u007f' stdout || fail "$(cat -v stdout)"
says 0 trace info "$name.jsonl" --format json
says 0 trace check "$name.jsonl"
says 0 run "$name.jsonl"
says 0 run "$name.jsonl" --format json
cp stdout result.json
says 0 bound "$name.jsonl" --steps 5
says 1 run "$name"
says 2 run --placement "$name"
says 2 "$name"
says 2 plot "$name" result.json -o x.svg
says 2 run a "$name"
says 2 run "--$name"
says 2 table result.json --rows "$name"
says 0 table result.json --rows trace --columns none
says 0 table result.json --rows trace --columns none --format csv
says 0 table result.json --rows trace --columns none --format json
says 0 table result.json --keys
says 0 compare result.json result.json --format tap
says 2 compare result.json result.json --only "$name"
says 0 report result.json -o page.html
clean page.html page.html

# what files say of themselves
"$SNAPSIM" model show kimi-k3 --format json >model.json
grep -q '"name":	"kimi-k3"' model.json || fail "$(head -n 5 model.json)"
sed 's/"kimi-k3"/"\\u001b[31mred\\u009b\\u007f"/' model.json >red.json
says 0 model show ./red.json
# shellcheck disable=SC1003 # backslashes
grep -qF '\u001b[31mred\u009b\u007f' stdout || fail "$(cat -v stdout)"
says 0 model show ./red.json --format json
says 0 cost --model ./red.json
sed 's/"kda"/"\\u001b[31mkda\\u009b"/' model.json >bad.json
says 1 model show ./bad.json
sed 's/"hidden_dim"/"\\u001b[31mhidden\\u009b"/' model.json >bad.json
says 1 run --model bad.json
"$SNAPSIM" calib show h200 --format json | sed 's/"name":	"h200"/"name":	"\\u001b[31mh\\u009b"/' >calib.json
says 0 calib show ./calib.json
says 0 calib diff ./calib.json h200
printf '{"trace": "a\\u001b[31m\\u009b", "placement": ["turn", "none"]}' >sweep.json
says 1 sweep sweep.json
printf '{"trace": {"conversations": 5}, "seed": [1], "cells": [{"label": "\\u001b[31m\\u009b"}]}' >sweep.json
says 0 sweep sweep.json
cp stdout results.jsonl
says 0 table results.jsonl --rows label --columns none
sed 's/"result":{[^}]*}/"error":"\\u001b[31mno\\u009b\\nnew line"/' results.jsonl >failed.jsonl
cat failed.jsonl results.jsonl >both.jsonl
says 0 table both.jsonl --rows seed --columns none
[ "$(wc -l <stderr)" = 1 ] || fail "$(cat -v stderr)"
says 3 compare results.jsonl failed.jsonl
