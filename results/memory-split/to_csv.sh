#!/bin/sh
# One CSV out of the results of a sweep: settings, then counters that tell what a split wastes.
set -eu
keys='hit_ratio prompt_tokens hit_tokens missed_evicted_tokens missed_no_snapshot_tokens'
keys="$keys mean_kv_bytes mean_snapshot_bytes mean_live_bytes mean_padding_bytes"
keys="$keys mean_external_bytes mean_free_bytes split_evictions split_uncached quota_bytes"
keys="$keys moved_bytes moved_places snapshots_taken snapshots_evicted"
printf 'trace,sha256,model,placement,memory,capacity'
for key in $keys; do printf ',%s' "$key"; done
echo
value() {
    printf '%s' "$line" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\)[\",}].*/\1/p"
}
text() {
    printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}
cat "$@" | while IFS= read -r line; do
    trace=$(printf '%s' "$line" | sed -n 's/.*"trace":{"name":"\([^"]*\)".*/\1/p')
    model=$(printf '%s' "$line" | sed -n 's/.*"model":{"name":"\([^"]*\)".*/\1/p')
    printf '%s,%.8s,%s,"%s","%s",%s' "$trace" "$(value sha256)" "$model" "$(text placement)" \
        "$(text memory)" "$(value capacity)"
    for key in $keys; do printf ',%s' "$(value "$key")"; done
    echo
done
