#!/bin/sh
# Makes the tables and pictures of this folder, in a folder: make.sh SNAPSIM TRACES TARGET
# A minute on two cores. To be run from the root of the source.
set -eu
snapsim=$1 traces=$2 target=$3
here=results/memory-split
. tools/results/manifest.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
drifting=generated:conversations=2000,seed=1,coding_share=0.04,drift=1

table() { # results, then more arguments
    results=$1
    shift
    "$snapsim" table "$results" --format csv --rows trace,placement,memory,capacity \
        --columns none --value hit_ratio,missed_evicted_tokens,missed_no_snapshot_tokens,\
mean_kv_bytes,mean_snapshot_bytes,mean_padding_bytes,mean_external_bytes,mean_free_bytes,\
drops,split_evictions,split_uncached,page_tokens,place_bytes,quota_bytes,moved_bytes,moved_places,snapshots_taken,\
snapshots_evicted "$@"
}

ratios() { # trace, its name in the figure
    table "$scratch/ratios.jsonl" --where "trace=$1" --where capacity=32GiB >"$scratch/one.csv"
    gnuplot -e "csv = '$scratch/one.csv'; output = '$target/ratios-$2.png'; gib = 32; width = 7; \
x_label = 'share of memory for states (static split)'; y_label = 'hit ratio'; \
heading = '$2: Kimi K3 TP8, fp8 KV, turn, LRU, 32 GiB per GPU'" tools/plot/common.gp $here/ratios.gp
}

for sweep in ratios strategies strategies-qwen; do
    "$snapsim" sweep $here/$sweep.json -j "$(nproc)" --trace-dir "$traces" \
        --output "$scratch/$sweep.jsonl"
    table "$scratch/$sweep.jsonl" >"$scratch/$sweep.csv"
    mv "$scratch/$sweep.csv" "$target/$sweep.csv"
done
{
    manifest_program "$snapsim"
    echo "made by   $here/make.sh SNAPSIM \$SNAPSIM_SHARED/traces $here"
    cat "$scratch"/*.jsonl | manifest_traces
} >"$target/manifest.txt"
ratios v8 coding
ratios "$drifting" drifting
for memory in lcm two-ended; do
    "$snapsim" run "$drifting" --tp 8 --kv-dtype fp8 --capacity 32GiB --memory $memory \
        --timeline "$scratch/timeline.csv" >/dev/null
    "$snapsim" plot timeline "$scratch/timeline.csv" --title "$memory, chats first, coding later" \
        -o "$target/timeline-drift-$memory.png"
done
