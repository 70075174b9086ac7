# The bracket of a load whose answer stands on paper (tests/test_bound.c): two prompts of 512 tokens
# come twice each, and memory holds one of them and a snapshot; so one of the two hits is possible.
# The longer prompts do not fit and leave in memory what is there: LRU keeps the second prompt.
set -eu
. "$ROOT/tests/expect.sh"
cat >tiny.json <<'END'
{"schema":1,"name":"tiny","summary":"a token takes 4 bytes, a snapshot 12","source":"made up",
 "state_dtype":"fp32","hidden_dim":8,"vocab":8,"tied_embedding":false,"layers":[
 {"kind":"gqa","count":1,"heads":1,"kv_heads":1,"head_dim":1,"output_gate":false},
 {"kind":"lightning","count":1,"heads":1,"key_dim":1,"value_dim":3}]}
END
{
    echo '{"timestamp":0,"input_length":512,"output_length":0,"hash_ids":[1]}'
    echo '{"timestamp":1,"input_length":512,"output_length":0,"hash_ids":[2]}'
    echo '{"timestamp":2,"input_length":1024,"output_length":0,"hash_ids":[1,3]}'
    echo '{"timestamp":3,"input_length":1024,"output_length":0,"hash_ids":[2,4]}'
} >twice.jsonl
bound() { "$SNAPSIM" bound twice.jsonl --model tiny.json "$@"; }
bound --capacity 2060B --format json >one.json
number() { sed -n "s/.*\"$1\":[[:space:]]*\([0-9]*\).*/\1/p" one.json; }
[ "$(number ideal_tokens)" = 1024 ] || fail "ideal: $(number ideal_tokens)"
[ "$(number dual_tokens)" -ge 512 ] || fail "dual: $(number dual_tokens)"
[ "$(number dual_tokens)" -le 514 ] || fail "dual: $(number dual_tokens)"
[ "$(number feasible_tokens)" = 512 ] || fail "feasible: $(number feasible_tokens)"
[ "$(number hit_tokens)" = 512 ] || fail "hit: $(number hit_tokens)"
bound --capacity 2060B --format json | cmp - one.json
bound --capacity 2060B --placement none >table
grep -q 'feasible: knowing the future .* 512 ' table || fail "$(cat table)"
grep -q 'The setting reaches 0.0 to 0.0 %' table || fail "$(cat table)"
# the setting's own result is in it, and replays
"$SNAPSIM" run twice.jsonl --config one.json --format json >again.json
digest() { sed -n 's/.*"digest":.*"\(0x[0-9a-f]*\)".*/\1/p' "$1"; }
[ -n "$(digest one.json)" ] || fail "no digest"
[ "$(digest one.json)" = "$(digest again.json)" ] || fail "another digest"
fails 2 "--steps: a number from 1 to 1000000 was expected, found '0'" bound --steps 0
fails 2 "did you mean '--steps'?" bound --step 5
# the best there is: 448 + 0 tokens, or one whole prompt; of 64 or more requests there is no telling
bound --capacity 2060B --exact --format json >one.json
[ "$(number exact_tokens)" = 512 ] || fail "exact: $(number exact_tokens)"
bound --capacity 2060B --exact | grep -q 'exact: the best there is .* 512 ' || fail "no exact row"
fails 1 'exact: of 64 requests, more than 20000000 choices would have to be tried; --requests' \
    bound generated:conversations=60,seed=2 --requests 64 --tp 8 --capacity 1GiB --exact
# Two prompts of 600 tokens that part after 512. Nobody ends there, so with ends only there is no hit.
{
    echo '{"timestamp":0,"input_length":600,"output_length":0,"hash_ids":[1,2]}'
    echo '{"timestamp":1,"input_length":600,"output_length":0,"hash_ids":[1,3]}'
} >part.jsonl
"$SNAPSIM" bound part.jsonl --model tiny.json --capacity 1MiB --format json >one.json
[ "$(number dual_tokens) $(number feasible_tokens)" = "512 512" ] || fail "$(cat one.json)"
"$SNAPSIM" bound part.jsonl --model tiny.json --capacity 1MiB --only-ends --exact --format json \
    --placement fixed:512 >one.json
[ "$(number ideal_tokens) $(number dual_tokens) $(number feasible_tokens)" = "512 0 0" ] ||
    fail "$(cat one.json)"
[ "$(number exact_tokens) $(number hit_tokens)" = "0 512" ] || fail "$(cat one.json)"
# the bracket is narrow on real loads
if [ -z "${SNAPSIM_SHARED-}" ]; then
    echo "no shared traces"
    exit 77
fi
narrow() { # tokens in 100 of the prompt, file, capacity
    "$SNAPSIM" bound "$SNAPSIM_SHARED/traces/$2" --tp 8 --kv-dtype fp8 --capacity "$3" \
        --format json >one.json
    [ $((100 * ($(number dual_tokens) - $(number feasible_tokens)))) -le \
        $(($1 * $(number prompt_tokens))) ] || fail "$2 at $3: wider than $1 %"
}
narrow 3 kv-cache-tester/v8.jsonl.zst 8GiB
narrow 1 kv-cache-tester/v8.jsonl.zst 16GiB
narrow 3 multi-swe-bench/sweagent_java.jsonl.zst 512MiB
narrow 1 mooncake/conversation_trace.jsonl.zst 4GiB
