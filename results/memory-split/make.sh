#!/bin/sh
# Makes this folder again (about 5 minutes on two cores): make.sh SNAPSIM TRACES
set -eu
snapsim=$1 traces=$2
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

for sweep in ratios strategies strategies-qwen; do
    "$snapsim" sweep $sweep.json -j "$(nproc)" --trace-dir "$traces" \
        --output "$scratch/$sweep.jsonl"
    "$snapsim" table "$scratch/$sweep.jsonl" --format csv \
        --rows trace,placement,memory,capacity --columns none \
        --value hit_ratio,missed_evicted_tokens,missed_no_snapshot_tokens,mean_kv_bytes,\
mean_snapshot_bytes,mean_padding_bytes,mean_external_bytes,mean_free_bytes,split_evictions,\
split_uncached,quota_bytes,moved_bytes,moved_places,snapshots_taken,snapshots_evicted \
        >"$scratch/$sweep.csv"
    mv "$scratch/$sweep.csv" $sweep.csv
done
gnuplot -e "trace='v8'; out='ratios-coding.png'" ratios.gp
drifting=$(sed -n 's/^"\(generated:[^"]*drift=1[^"]*\)".*/\1/p' ratios.csv | head -n 1)
gnuplot -e "trace='$drifting'; out='ratios-drifting.png'" ratios.gp
for memory in lcm two-ended; do
    "$snapsim" run "$drifting" --tp 8 --kv-dtype fp8 --capacity 32GiB --memory $memory \
        --timeline "$scratch/timeline.csv" >/dev/null
    gnuplot -e "csv='$scratch/timeline.csv'; out='timeline-drift-$memory.png'" timeline.gp
done
