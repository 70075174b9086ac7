# The alarm must work: a build with a planted fault (a dropped snapshot is still counted) has to be
# caught by the audit, which sound builds with SIM_CHECK pass.
set -eu
cd "$ROOT"
env -u MAKEFLAGS -u MAKEOVERRIDES make -s VARIANT=fault BUILD=build/fault CI= build/fault/snapsim
cd - >/dev/null
"$SNAPSIM" trace generate -o load.jsonl --conversations 20
if "$ROOT/build/fault/snapsim" run load.jsonl --capacity 64GiB 2>message; then
    echo "the planted fault was not caught"
    exit 1
fi
grep -q 'audit after request .* snapshots, counted' message
