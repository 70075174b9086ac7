# snapsim cost: parts stand under their phase, and the sums are theirs.
set -eu
"$SNAPSIM" cost --model qwen3.5-27b --tokens 4096 >table
[ "$(grep -c '^prefill: \|^decode: \|^snapshots and KV' table)" = 3 ]
[ "$(grep -c '^  sum ' table)" = 2 ]
"$SNAPSIM" cost --model qwen3.5-27b --tokens 4096 --format json >out.json
for phase in prefill decode; do
    parts=$(awk -v phase="\"$phase\"," '/"phase"/ { on = $2 == phase } /"total_ns"/ && on { sum += $2 }
        END { printf "%d", sum }' out.json)
    [ "$parts" -gt 0 ]
    grep -q "\"${phase}_ns\":.*[^0-9]$parts\b" out.json
done
grep -q '"phase":.*"snapshot"' out.json
