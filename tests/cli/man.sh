# The manual pages: they can be made, no formatter complains about one, and each example in them
# runs. In a page `.\" run` says that the literal display after it is a script, `.\" file NAME` that
# it is the content of a file; the scripts of a page run in order, in a directory of their own.
set -eu
formatters=""
for formatter in groff mandoc; do
    command -v $formatter >/dev/null && formatters="$formatters $formatter"
done

# A page as a script. Complains about commands in displays that are neither run nor a usage.
scripts() {
    awk -v quote="'" '
        function plain(line) {
            gsub(/\\-/, "-", line)
            gsub(/\\\(aq/, quote, line)
            gsub(/\\\(ga/, "`", line)
            gsub(/\\\(ti/, "~", line)
            gsub(/\\\(ha/, "^", line)
            gsub(/\\e/, "\\", line)
            return line
        }
        /^\.\\" (run|usage)$/ { kind = $2 }
        /^\.\\" file / { kind = "file"; name = $3 }
        /^\.Bd -literal/ {
            inside = 1
            if (kind == "file") print "cat >" name " <<" quote "END OF FILE" quote
            next
        }
        /^\.Ed/ {
            if (kind == "file") print "END OF FILE"
            inside = 0
            kind = ""
            next
        }
        inside && (kind == "run" || kind == "file") { print plain($0); next }
        (inside && kind == "" && /^(\$ )?snapsim /) || /^\.[DQ]l snapsim [a-z]/ {
            print FILENAME ": neither run nor a usage: " plain($0) | "cat 1>&2"
            bad = 1
        }
        END { exit bad }' "$1"
}

found=0
for source in "$ROOT"/tools/man/*.in; do
    page=$(basename "$source" .in)
    sh "$ROOT/tools/man/make.sh" "$SNAPSIM" "$source" >"$page"
    if grep -n '^@' "$page"; then
        echo "$page: a part is missing"
        exit 1
    fi
    for formatter in $formatters; do
        case $formatter in
        groff) groff -mdoc -ww -z "$page" >said 2>&1 || true ;;
        mandoc) mandoc -T lint -W warning "$page" >said 2>&1 || true ;;
        esac
        if [ -s said ]; then
            echo "$formatter complains about $page:"
            cat said
            exit 1
        fi
    done
    {
        echo 'set -eu'
        # shellcheck disable=SC2016 # for the script
        echo 'snapsim() { "$SNAPSIM" "$@"; }'
        scripts "$page"
    } >"$page.sh"
    grep -q '^snapsim ' "$page.sh" || continue
    found=$((found + $(grep -c '^snapsim ' "$page.sh")))
    mkdir "in-$page"
    if ! (cd "in-$page" && sh -x "../$page.sh") >said 2>&1; then
        echo "an example of $page fails:"
        tail -n 20 said
        exit 1
    fi
done
[ "$found" -ge 20 ]
# every command has its place in the page
"$SNAPSIM" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' | while read -r command; do
    if ! grep -qx "\.Ss snapsim $command" snapsim.1; then
        echo "snapsim.1 says nothing about $command"
        exit 1
    fi
done
if [ -z "$formatters" ]; then
    echo "examples run, but neither groff nor mandoc is here to check the pages"
    exit 77
fi
