# A result that surprises says on stderr what it is due to and what to change; stdout has none of it,
# and a sweep says nothing. Following the hint brings hits.
set -eu
. "$ROOT/tests/expect.sh"
two() { # two N: a prompt of N tokens in blocks of 16, twice
    for id in a b; do
        printf '{"id":"%s","block_size":16,"hash_id_scope":"global","start":0,"requests":[' $id
        printf '{"t":0,"in":%s,"out":9,"hash_runs":[[1,%s]]}]}\n' "$1" $(($1 / 16))
    done >load.jsonl
}
hint() { # hint WORDS OPTION...: WORDS are said, and only on stderr; WORDS empty: nothing is
    words=$1
    shift
    "$SNAPSIM" run load.jsonl "$@" >stdout 2>stderr || fail "$*: $(cat stderr)"
    grep -q hint stdout && fail "$*: a hint on stdout"
    if [ -z "$words" ]; then
        [ ! -s stderr ] || fail "$*: $(cat stderr)"
    elif ! grep '^snapsim: hint: ' stderr | grep -qF -- "$words"; then
        fail "$*: '$words' was expected, found $(cat stderr)"
    fi
}
hits() { # hits EXPECTED OPTION...
    expected=$1
    shift
    "$SNAPSIM" run load.jsonl "$@" --format json >stdout 2>stderr
    found=$(sed -n 's/.*"hit_tokens":[[:space:]]*\([0-9]*\).*/\1/p' stdout)
    [ "$found" = "$expected" ] || fail "$*: $found hit tokens, not $expected"
}
two 1710
# everybody's first test: the state at n is of no use to a prompt of n tokens
hits 0
hint '1 of 2 prompts were sent before, and none hit: their last token is computed in any case'
hint 'add +fixed:1024 to the placement'
hits 1024 --placement turn+fixed:1024
hint '' --placement turn+fixed:1024
# branch alone has nothing to branch from
hint 'branch takes a snapshot where a prompt leaves what is stored, and by itself' --placement branch
hint '' --placement branch --orphans keep --model llama-3.1-8b # hits without snapshots
# with kept KV the second prompt leaves the first at its last full block, and takes one for a third
hint 'none of the snapshots there were lay within what a prompt had in common' \
    --placement branch --orphans keep
# placements that leave nothing
hint 'no snapshot was taken, and without one a model with recurrent layers hits nothing: placement none' \
    --placement none
hint 'no snapshot was taken' --placement system-prompt
hint 'snapshots are at multiples of 4,096 tokens, and the longest prompt has 1,710: none can hit' \
    --placement fixed:4096
hint 'nothing fits into --capacity 1.0 MiB: a snapshot takes 428.6 MiB' --capacity 1MiB
# more than half of the prompts cannot use a grid, though the longest can
two 1710
sed 's/"a"/"c"/; s/"b"/"d"/; s/1710/5000/; s/106/312/; s/\[\[1,/[[1000,/' load.jsonl >longer.jsonl
cat longer.jsonl >>load.jsonl
hint '2 of 4 prompts are too short to use one' --placement fixed:4096
# a prompt that leaves the path of the one before it below every snapshot of it
printf '%s%s\n%s%s\n' '{"id":"a","block_size":1,"hash_id_scope":"global","start":0,"requests":[' \
    '{"t":0,"in":900,"out":9,"hash_runs":[[1,900]]}]}' \
    '{"id":"b","block_size":1,"hash_id_scope":"global","start":9,"requests":[' \
    '{"t":0,"in":900,"out":9,"hash_runs":[[1,700],[5000,200]]}]}' >load.jsonl
hint '700 prompt tokens were seen before, but none of the snapshots there were' --placement turn
hits 512 --placement turn+fixed:512
# pages that are larger than the prompts: hits are exact, a server of whole pages would have none
printf '%s%s%s\n' '{"id":"a","block_size":16,"hash_id_scope":"global","start":0,"requests":[' \
    '{"t":0,"in":1710,"out":40,"hash_runs":[[1,106]]},' \
    '{"t":5,"in":1850,"out":40,"hash_runs":[[1,115]]}]}' >load.jsonl
hint 'pages have 2096 tokens, more than most prompts' --memory equal --model nemotron3-nano \
    --placement prompt-end
hint '--match-unit 2096' --memory equal --model nemotron3-nano --placement prompt-end
hits 0 --memory equal --model nemotron3-nano --placement prompt-end --match-unit 2096
# a sweep is silent
printf '{"trace": "load.jsonl", "placement": ["none", "branch", "fixed:4096"]}' >sweep.json
"$SNAPSIM" sweep sweep.json >stdout 2>stderr
[ ! -s stderr ] || fail "$(cat stderr)"
