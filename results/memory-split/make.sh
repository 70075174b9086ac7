#!/bin/sh
# Makes this folder again (two minutes on two cores): make.sh SNAPSIM TRACES
set -eu
snapsim=$1 traces=$2
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
drifting=generated:conversations=2000,seed=1,coding_share=0.04,drift=1

table() { # results, then more arguments
    results=$1
    shift
    "$snapsim" table "$results" --format csv --rows trace,placement,memory,capacity \
        --columns none --value hit_ratio,missed_evicted_tokens,missed_no_snapshot_tokens,\
mean_kv_bytes,mean_snapshot_bytes,mean_padding_bytes,mean_external_bytes,mean_free_bytes,\
split_evictions,split_uncached,quota_bytes,moved_bytes,moved_places,snapshots_taken,\
snapshots_evicted "$@"
}

figure() { # trace, its name in the figure
    table "$scratch/ratios.jsonl" --where "trace=$1" >"$scratch/one.csv"
    gnuplot -e "csv='$scratch/one.csv'; name='$2'; out='ratios-$2.png'" ratios.gp
}

for sweep in ratios strategies strategies-qwen; do
    "$snapsim" sweep $sweep.json -j "$(nproc)" --trace-dir "$traces" \
        --output "$scratch/$sweep.jsonl"
    table "$scratch/$sweep.jsonl" >"$scratch/$sweep.csv"
    mv "$scratch/$sweep.csv" $sweep.csv
done
figure v8 coding
figure "$drifting" drifting
for memory in lcm two-ended; do
    "$snapsim" run "$drifting" --tp 8 --kv-dtype fp8 --capacity 32GiB --memory $memory \
        --timeline "$scratch/timeline.csv" >/dev/null
    gnuplot -e "csv='$scratch/timeline.csv'; out='timeline-drift-$memory.png'" timeline.gp
done
