# Every placement with every eviction, and every memory strategy where memory is short, against
# committed tables of digests: a change of behaviour, of compiler or of optimisation shows as a
# changed line. To accept a change: make bless, then read `git diff`.
set -eu

# table KEY... - the values of these keys on each line, the first of each name
table() {
    awk -v keys="$*" '
        BEGIN { count = split(keys, key, " ") }
        { for (i = 1; i <= count; i++) {
              if (!match($0, "\"" key[i] "\":(\"[^\"]*\"|[0-9]+)")) {
                  print "no " key[i]
                  next
              }
              value = substr($0, RSTART, RLENGTH)
              sub("\"" key[i] "\":", "", value)
              gsub("\"", "", value)
              printf "%s%s", value, i < count ? " " : "\n"
          } }'
}

# check GRID KEY...
check() {
    grid=$ROOT/tests/golden/$1
    shift
    "$SNAPSIM" sweep "$grid.json" -j 2 | table "$@" >found
    if [ "${BLESS-}" = 1 ]; then
        cp found "$grid.txt"
    fi
    diff "$grid.txt" found | head -n 20
    cmp "$grid.txt" found
}

check grid placement eviction memory capacity orphans hit_tokens digest
check memories memory placement eviction orphans capacity hit_tokens split_evictions \
    split_uncached mean_padding_bytes mean_external_bytes quota_bytes moved_bytes moved_places digest
