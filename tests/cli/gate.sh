# The example workflow of tools/ci: its own commands pass while hit rates stay, and fail with
# status 3 when they fall.
set -eu
mkdir -p hit-rate snapsim/build
ln -s "$SNAPSIM" snapsim/build/snapsim
printf '{"trace": {"conversations": 60}, "placement": ["turn", "branch+reply-end"],
 "capacity": ["64GiB", "256GiB"]}' >hit-rate/sweep.json
"$SNAPSIM" sweep hit-rate/sweep.json --output hit-rate/base.jsonl
sed -n 's/^ *- run: \(snapsim.*\)/\1/p' "$ROOT/tools/ci/hit-rate.yml" >steps
[ "$(wc -l <steps)" = 2 ]
sh -eu steps
# a policy that loses hits: a third of the memory, under the name of the old setting
sed 's/64GiB/20GiB/; s/256GiB/80GiB/' hit-rate/sweep.json >small.json
"$SNAPSIM" sweep small.json | sed 's/"20GiB"/"64GiB"/; s/"80GiB"/"256GiB"/' >worse.jsonl
sed 's/ new.jsonl/ worse.jsonl/' steps | tail -n 1 >gate
code=0
sh -eu gate >stdout || code=$?
[ $code = 3 ]
grep -q '^::error' stdout
