# snapsim plot: a figure whose legend and names leave the plot no room is refused, with a size that
# does. What was drawn is read from the picture itself: its grid lines, and where the ticks stand.
set -eu
. "$ROOT/tests/expect.sh"
if ! command -v gnuplot >/dev/null; then
    echo "gnuplot is not there"
    exit 77
fi
cat >sweep.json <<'END'
{"trace": {"conversations": 20, "seed": 1}, "capacity": ["8GiB", "16GiB", "64GiB"],
 "placement": ["turn", "none", "fixed:512", "fixed:1024", "fixed:2048", "fixed:4096"],
 "eviction": ["lru:refresh=path", "lfu"]}
END
"$SNAPSIM" sweep sweep.json >twelve.jsonl
grep -v '"placement":"fixed' twelve.jsonl >four.jsonl
mkdir tmp
export TMPDIR="$PWD/tmp"

# drawn FILE.svg: the shares of its width and height that the plot has, of its grid lines and its
# outer ticks; then whether 8, 16, 32 and 64 GiB stand from left to right
drawn() {
    awk '
        /viewBox=/ {
            split(substr($0, index($0, "viewBox=\"") + 9), box, /[" ]/)
            width = box[3]
            height = box[4]
        }
        /class="gridline"/ && match($0, /M[0-9.,-]* L[0-9.,-]*/) {
            split(substr($0, RSTART + 1, RLENGTH - 1), at, /[ ,L]+/)
            left = at[1] < at[3] ? at[1] : at[3]
            right = at[1] < at[3] ? at[3] : at[1]
            if (at[1] > at[3]) mirrored = 1
            if (top == "" || at[2] < top) top = at[2]
            if (at[2] > bottom) bottom = at[2]
        }
        match($0, /translate\([0-9.-]*/) { x = substr($0, RSTART + 10, RLENGTH - 10) }
        match($0, />[0-9]+ GiB</) {
            size = substr($0, RSTART + 1) + 0
            if (ticks++ > 0 && (x + 0 <= last || size <= last_size)) mirrored = 1
            last = x + 0
            last_size = size
        }
        END {
            if (ticks < 3) mirrored = 1
            printf "%d %d %s\n", 100 * (right - left) / width, 100 * (bottom - top) / height,
                mirrored ? "mirrored" : "ascending"
        }' "$1"
}

made=0 refused=0
for results in four twelve; do
    for width in 3.4 4.6 5.5 7 9.5; do
        for type in svg pdf; do
            code=0
            "$SNAPSIM" plot hit-rate $results.jsonl -o a.$type --width $width 2>message || code=$?
            [ -z "$(ls tmp)" ] || fail "left over: $(ls tmp)"
            if [ $code = 0 ]; then
                made=$((made + 1))
                [ ! -s message ] || fail "$(cat message)"
                if [ $type = svg ]; then
                    # shellcheck disable=SC2046 # three words
                    set -- $(drawn a.svg)
                    # the outer grid lines are at most a tick apart from the ends of the plot
                    { [ "$1" -ge 34 ] && [ "$2" -ge 25 ] && [ "$3" = ascending ]; } ||
                        fail "$results at $width: $*"
                fi
                rm a.$type
                continue
            fi
            refused=$((refused + 1))
            [ $code = 1 ] || fail "status $code: $(cat message)"
            [ ! -e a.$type ] || fail "$results at $width: a picture in spite of an error"
            grep -q '^snapsim: the legend of [0-9]* lines .*fewer series with --where$' message ||
                fail "$(cat message)"
            # what is advised is enough
            advice=$(sed -n 's/.*; use \(--[^,]*\), or fewer.*/\1/p' message)
            [ -n "$advice" ] || grep -q 'use a larger --width' message || fail "$(cat message)"
            [ -n "$advice" ] || continue
            # shellcheck disable=SC2086 # several words; the last of two counts
            "$SNAPSIM" plot hit-rate $results.jsonl -o a.$type --width $width $advice ||
                fail "$results at $width, $type: $advice is not enough"
            rm a.$type
        done
    done
done
{ [ $made -ge 8 ] && [ $refused -ge 5 ]; } || fail "$made made, $refused refused"
status 1 'the legend of 12 lines and the names at the axes leave [0-9]* % of the width of 7in' \
    "$SNAPSIM" plot hit-rate twelve.jsonl -o a.svg --csv a.csv --width 7in
grep -qE 'at least 35 % was expected; use --width [0-9.]+in, or fewer series with --where$' message ||
    fail "$(cat message)"

# names instead of a legend: bars, and the rows of a map
for kind in misses heatmap; do
    status 1 'for the plot, at least 35 % was expected; use --width' \
        "$SNAPSIM" plot $kind twelve.jsonl -o a.svg --width 2in
done
{ [ ! -e a.svg ] && [ ! -e a.csv ]; } || fail "a file in spite of an error"

# a page chooses the size itself
"$SNAPSIM" report twelve.jsonl -o page.html
grep -q 'could not be drawn' page.html && fail "a figure of the page is missing"
sed -n '/figure-hit-rate/,/<\/svg>/p' page.html >page.svg
# shellcheck disable=SC2046 # three words
set -- $(drawn page.svg)
{ [ "$1" -ge 34 ] && [ "$3" = ascending ]; } || fail "page: $*"
