#!/bin/sh
# submit.sh - runs a sweep on a Slurm cluster: an array job with one task for each shard, and a job
# that merges the parts when all have ended. The merged file is byte for byte the one that
# `snapsim sweep SWEEP --output RESULTS` writes on one machine.
#
#   tools/slurm/submit.sh sweep.json -n 16 -c 8 -o out.jsonl.zst -- --partition=long --time=2:00:00
#
# The nodes must share the current directory (paths in the sweep file are relative to it), the
# traces, and the program. The tasks read a copy of the sweep file, so the original may change while
# they wait. To go on after a failure, or after a node was lost, submit the same again: whole parts
# are not run a second time, started ones go on.
set -eu

usage() {
    cat <<'HELP'
usage: submit.sh SWEEP.json [-n SHARDS] [-c THREADS] [-o RESULTS] [option...] [-- SBATCH-OPTION...]

Submits a sweep to Slurm: an array job over its shards, and a job that merges them after.

  -n SHARDS        tasks of the array job [8]
  -c THREADS       threads, and CPUs, of each task [1]
  -o RESULTS       the merged results, a .jsonl or .zst file [results.jsonl.zst]
  --trace-dir DIR  where relative paths of traces are looked up first
  --program FILE   the snapsim to run [the one next to this script, or in PATH]
  --wait           come back when the merge has ended, with its exit status

The parts, and what the jobs print, lie in RESULTS.parts.

examples:
  submit.sh sweep.json -n 16 -c 8
  submit.sh sweep.json -n 4 -o out.jsonl --wait -- --partition=debug --time=10:00
HELP
}

fail() { # status, message
    status=$1
    shift
    echo "submit.sh: $*" >&2
    exit "$status"
}

is_count() {
    case $1 in
    '' | 0* | *[!0-9]*) return 1 ;;
    esac
}

sweep='' shards=8 threads=1 results=results.jsonl.zst trace_dir='' program='' wait=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --)
        shift
        break
        ;;
    --wait)
        wait=--wait
        shift
        continue
        ;;
    -n | -c | -o | --trace-dir | --program)
        [ $# -ge 2 ] || fail 2 "$1 needs a value"
        case $1 in
        -n) shards=$2 ;;
        -c) threads=$2 ;;
        -o) results=$2 ;;
        --trace-dir) trace_dir=$2 ;;
        --program) program=$2 ;;
        esac
        shift 2
        continue
        ;;
    -*) fail 2 "unknown option '$1' (submit.sh --help); Slurm's go behind --" ;;
    *)
        [ -z "$sweep" ] || fail 2 "one argument too many: '$1'"
        sweep=$1
        ;;
    esac
    shift
done
[ -n "$sweep" ] || fail 2 "a sweep file was expected (submit.sh --help)"
is_count "$shards" || fail 2 "-n: a number of shards from 1 was expected, found '$shards'"
is_count "$threads" || fail 2 "-c: a number of threads from 1 was expected, found '$threads'"
case $results in
*.jsonl | *.zst) ;;
*) fail 2 "-o: a .jsonl or .zst file was expected, found '$results'" ;;
esac
[ -r "$sweep" ] || fail 1 "cannot read '$sweep'"
command -v sbatch >/dev/null || fail 1 "there is no sbatch here; is this a node of the cluster?"
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "$program" ]; then
    program=$here/../../build/snapsim
    [ -x "$program" ] || program=$(command -v snapsim) ||
        fail 1 "there is no snapsim; build it, or say --program FILE"
fi
[ -x "$program" ] || fail 1 "'$program' is not a program"

parts=$results.parts
mkdir -p "$parts"
# A part that is there counts as done, so it must not be one of another sweep.
if [ ! -e "$parts/sweep.json" ]; then
    cp "$sweep" "$parts/sweep.json"
elif ! cmp -s "$sweep" "$parts/sweep.json"; then
    fail 1 "'$parts' has parts of another sweep; remove it, or name other results (-o)"
fi
array=$(sbatch --parsable --array="1-$shards" --cpus-per-task="$threads" \
    --output="$parts/shard-%a.log" "$@" "$here/sweep.sbatch" \
    shard "$program" "$parts/sweep.json" "$parts" "$shards" ${trace_dir:+--trace-dir "$trace_dir"})
array=${array%%;*} # the name of a cluster may follow
echo "$shards shards: job $array, $threads threads each, logs in $parts"
printf 'merge into %s: job ' "$results"
# shellcheck disable=SC2086 # no word if it is empty
exec sbatch --parsable --dependency="afterany:$array" $wait --output="$parts/merge.log" "$@" \
    "$here/sweep.sbatch" merge "$program" "$results" "$parts" "$shards"
