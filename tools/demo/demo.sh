#!/bin/sh
# make demo: a generated load of chats and coding sessions, Kimi K3 (TP8), ten placements at six
# capacities. Prints where the prompt tokens went and draws two pictures into BUILD/demo/.
set -eu
build=$1
snapsim=$build/snapsim
here=$(cd "$(dirname "$0")" && pwd)
out=$build/demo

"$snapsim" sweep "$here/demo.json" -j 2 --output "$out" --force
echo "Share of prompt tokens that need not be computed (Kimi K3 on 8 GPUs, memory per GPU):"
echo
"$snapsim" table "$out" --rows placement --columns capacity --value hit_ratio --best
echo
echo "The same at 16GiB, and where the rest went:"
echo
"$snapsim" table "$out" --where capacity=16GiB --rows placement --columns none \
    --value hit_ratio,missed_new_ratio,missed_evicted_ratio,missed_no_snapshot_ratio
echo
"$snapsim" plot hit-rate "$out" -o "$out/hit-rate.png"
"$snapsim" plot misses "$out" --where capacity=16GiB -o "$out/misses.png"
echo "pictures: $out/hit-rate.png $out/misses.png"
echo "results:  $out/results.jsonl (snapsim table $out --keys lists what is in them)"
