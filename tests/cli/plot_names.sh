# snapsim plot: any text of a user and any name of a file is drawn as it is, and is never a command.
set -eu
. "$ROOT/tests/expect.sh"
if ! command -v gnuplot >/dev/null; then
    echo "gnuplot is not there"
    exit 77
fi
printf '{"trace": {"conversations": 5, "seed": 1}, "capacity": ["8GiB", "32GiB"]}' >sweep.json
"$SNAPSIM" sweep sweep.json >one.jsonl
# The names of traces as JSON has them, and the words of the picture: XML, and what a name in a
# figure cannot have (a quote, a comma, a control character) as something that looks like it.
cat >names <<'END'
'single|'single
\"double\" and|'double' and
back\\slash\\n\\101|back\slash\n\101
\\|\
a{b}_c^d~e&f|a{b}_c^d~e&amp;f
%d 100% %s|%d 100% %s
#hash|#hash
comma, semi;|comma; semi;
`touch owned`|`touch owned`
$(touch owned)|$(touch owned)
@csv|@csv
<b>|&lt;b>
new\nline|new\u000aline
tab\there|tab\u0009here
\u001b[31m|\u001b[31m
{/Bold x}|{/Bold x}
NaN|NaN
1e5|1e5
-|-
é€|é€
END
number=0
while IFS= read -r line; do
    number=$((number + 1))
    name=$(printf '%s' "${line%|*}" | sed 's/[\\&/]/\\&/g')
    sed "s/\"name\":\"generated[^\"]*\",\"sha256\":\"[0-9a-f]*\"/\"name\":\"$name\",\"sha256\":\"$number\"/" \
        one.jsonl
done <names >many.jsonl
printf '%s\n' '"name":"","sha256":"none"' | sed 's/[\\&/]/\\&/g' >empty
sed "s/\"name\":\"generated[^\"]*\",\"sha256\":\"[0-9a-f]*\"/$(cat empty)/" one.jsonl >>many.jsonl
title="'quote \"double\" \\n \`touch owned\` {/Bold x}_a @csv %5 8
second"
for kind in hit-rate misses heatmap; do
    by=$([ $kind = misses ] || echo "--by trace")
    # shellcheck disable=SC2086 # none or two words
    "$SNAPSIM" plot $kind many.jsonl -o $kind.svg --width 14 --height 9 --title "$title" \
        --x-label "'x" --y-label '"y"' $by 2>message || fail "$kind: $(cat message)"
    if command -v xmllint >/dev/null; then
        xmllint --noout $kind.svg
    fi
    grep '<text' $kind.svg | sed 's/<[^>]*>//g; s/^[ 	]*//; s/[ 	]*$//' >words
    while IFS= read -r line; do
        grep -qxF -- "${line##*|}" words || fail "$kind: no '${line##*|}' in $(cat words)"
    done <names
    # shellcheck disable=SC2016 # backquotes
    grep -qxF "'quote \"double\" \\n \`touch owned\` {/Bold x}_a @csv %5 8 second" words ||
        fail "$kind: no title in $(cat words)"
    grep -qxF "'x" words || fail "$kind: no label"
    grep -q '^,' words && fail "$kind: a name took the rest of its line"
done
[ ! -e owned ] || fail "a name was run"
# the folder in which gnuplot works has a name that nobody chose: digits, quotes and blanks
# shellcheck disable=SC2016 # no expansions
for folder in "it's 0" '1 "2"' '$(touch owned)' '`touch owned`' 'a\b' '%d'; do
    mkdir "$folder"
    TMPDIR="$PWD/$folder" "$SNAPSIM" plot hit-rate one.jsonl -o a.svg || fail "$folder"
done
[ ! -e owned ] || fail "a name was run"
