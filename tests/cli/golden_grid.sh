# Every placement with every eviction and memory strategy, against a committed table of digests: a
# change of behaviour, of compiler or of optimisation shows as a changed line. To accept a change:
# make bless, then read `git diff`.
set -eu
table() {
    sed -n 's/.*"placement":"\([^"]*\)","eviction":"\([^"]*\)","memory":"\([^"]*\)",'\
'"capacity":"\([^"]*\)".*"orphans":"\([^"]*\)".*"hit_tokens":\([0-9]*\).*'\
'"digest":"\([^"]*\)".*"sweep":.*/\1 \2 \3 \4 \5 \6 \7/p'
}
"$SNAPSIM" sweep "$ROOT/tests/golden/grid.json" -j 2 | table >found
if [ "${BLESS-}" = 1 ]; then
    cp found "$ROOT/tests/golden/grid.txt"
fi
diff "$ROOT/tests/golden/grid.txt" found | head -n 20
cmp "$ROOT/tests/golden/grid.txt" found
