# snapsim plot: every kind as PDF, SVG and PNG, from any directory; none is empty.
set -eu
. "$ROOT/tests/expect.sh"
if ! command -v gnuplot >/dev/null; then
    echo "gnuplot is not there"
    exit 77
fi
cat >sweep.json <<'END'
{"name": "plot", "trace": {"conversations": 30},
 "placement": ["none", "turn", "fixed:512", "fixed:4096"], "capacity": ["32GiB", "256GiB", "1TiB"]}
END
"$SNAPSIM" sweep sweep.json --output out
# picture FILE: starts as its kind does, and is no empty page
picture() {
    [ "$(wc -c <"$1")" -gt 3000 ] || fail "$1 has $(wc -c <"$1") bytes"
    case $1 in
    *.pdf) head -c 5 "$1" | grep -q '%PDF-' ;;
    *.png) head -c 4 "$1" | grep -q 'PNG' ;;
    *.svg) grep -q '</svg>' "$1" ;;
    esac || fail "$1 is not what its name says"
}
export TMPDIR="$PWD/tmp"
mkdir tmp
for kind in hit-rate misses heatmap; do
    for type in pdf svg png; do
        "$SNAPSIM" plot $kind out -o $kind.$type --csv $kind.csv 2>message ||
            fail "$kind.$type: $(cat message)"
        [ ! -s message ] || fail "$kind.$type: $(cat message)"
        picture $kind.$type
    done
done
"$SNAPSIM" run generated:conversations=20,seed=1 --capacity 8GiB --memory lcm --timeline memory.csv \
    >/dev/null
for type in pdf svg png; do
    "$SNAPSIM" plot timeline memory.csv -o timeline.$type
    picture timeline.$type
done
[ -z "$(ls tmp)" ] || fail "something was left in TMPDIR: $(ls tmp)"

# the data: by name, numbers exact, the same as the table's
[ "$(sed -n 1p hit-rate.csv)" = '"capacity_bytes","none","turn","fixed:512","fixed:4096"' ] ||
    fail "$(sed -n 1p hit-rate.csv)"
[ "$(cut -d, -f1 hit-rate.csv | tail -n +2 | tr '\n' ' ')" = \
    '34359738368 274877906944 1099511627776 ' ] || fail "x"
"$SNAPSIM" table out --rows capacity --columns placement --format csv | tail -n +2 | cut -d, -f2- >a
tail -n +2 hit-rate.csv | cut -d, -f2- | cmp - a
# what a figure says in words is in the picture; SVG keeps it as text
for word in turn fixed:4096 'capacity per GPU' 'hit ratio'; do
    grep -q "$word" hit-rate.svg || fail "no '$word' in hit-rate.svg"
done
grep -q '>256 GiB<\| 256 GiB<' hit-rate.svg || fail "no tick of 256 GiB"
grep -q 'no usable snapshot' misses.svg || fail "misses.svg has no legend"

# options
"$SNAPSIM" plot hit-rate out -o a.svg --width 86mm --height 2in --font 'DejaVu Sans' --font-size 7 \
    --title "It's <b>50%</b> {/Bold better}_x" --range 0:1 --x placement.interval --by capacity \
    --where placement!=none --where placement!=turn
grep -q 'viewBox="0 0 24[34] 144"' a.svg || fail "86 mm by 2 in: $(grep viewBox a.svg)"
grep -q "DejaVu Sans" a.svg || fail "no font"
grep -q '{/Bold better}_x' a.svg || fail "a title is no markup"
grep -q 'tokens between snapshots' a.svg || fail "no words for the axis"
printf 'set output output\nplot csv using 1:2 with lines\n' >own.gp
"$SNAPSIM" plot hit-rate out -o own.png --script own.gp
picture own.png
# a pipe is written to, not replaced
mkfifo pipe
"$SNAPSIM" plot hit-rate out --csv pipe &
cmp pipe hit-rate.csv
wait
[ -p pipe ] || fail "the pipe was replaced"

status 2 "did you mean 'heatmap'" "$SNAPSIM" plot heat-map out -o x.png
status 2 'ends in .pdf, .svg or .png' "$SNAPSIM" plot misses out -o x.jpeg
status 2 'LOW:HIGH was expected' "$SNAPSIM" plot hit-rate out -o x.png --range 1
status 2 'a length was expected' "$SNAPSIM" plot hit-rate out -o x.png --width wide
status 2 "did you mean 'capacity'" "$SNAPSIM" plot hit-rate out -o x.png --x capacty
status 2 'KIND and RESULTS' "$SNAPSIM" plot hit-rate
status 1 'gnuplot is not there' env PATH=/nowhere "$SNAPSIM" plot hit-rate out -o x.png
printf 'plot nothing\n' >wrong.gp
status 1 'gnuplot, wrong.gp: line 1: undefined variable: nothing' \
    "$SNAPSIM" plot hit-rate out -o x.png --script wrong.gp
sed 's/snapshot_bytes/something/' memory.csv >wrong.csv
status 1 "the columns" "$SNAPSIM" plot timeline wrong.csv -o x.png
[ ! -e x.png ] || fail "a picture in spite of an error"
