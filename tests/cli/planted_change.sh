# The gate must see a change of one policy, name its cells, and see nothing in another build: the
# sources are copied, built without optimisation, and then with one line of one policy changed.
set -eu
printf '{"trace": {"conversations": 40}, "eviction": ["lru", "fifo"], "placement": ["prompt-end", "last"],
 "capacity": ["64GiB", "128GiB"]}' >sweep.json
mkdir copy
cp -r "$ROOT/sim" "$ROOT/policies" "$ROOT/traces" "$ROOT/tools" "$ROOT/Makefile" copy
rm -f copy/tools/probe/probe.mk copy/tools/man/man.mk
touch copy/tools/probe/probe.mk copy/tools/man/man.mk
build() {
    env -u MAKEFLAGS -u MAKEOVERRIDES make -s -C copy -j2 BUILD=build/x FLAGS_release=-O0 CI= \
        build/x/snapsim
}
build
"$SNAPSIM" sweep sweep.json -j2 --output base.jsonl
copy/build/x/snapsim sweep sweep.json --output same.jsonl
"$SNAPSIM" compare base.jsonl same.jsonl
sed -i 's/positions_add_end(positions, view->prompt_tokens);/positions_add_end(positions, view->prompt_tokens - 1);/' \
    copy/policies/placement/ends.c
build
copy/build/x/snapsim sweep sweep.json --output other.jsonl
code=0
"$SNAPSIM" compare base.jsonl other.jsonl >stdout || code=$?
[ $code = 3 ]
grep -q prompt-end stdout
if grep -q "placement=last" stdout; then
    exit 1
fi
